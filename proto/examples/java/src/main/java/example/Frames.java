// SPDX-License-Identifier: Apache-2.0
package example;

import com.google.protobuf.ByteString;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import rawstack.v1.LocationKind;
import rawstack.v1.Locations;
import rawstack.v1.Module; // by name, because every program sees java.lang.Module
import rawstack.v1.StackBatch;
import rawstack.v1.SymbolizedBatch;
import rawstack.v1.SymbolizerGrpc;

/**
 * Frames [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...
 * prints the frames of link-time addresses of a binary, innermost first.
 */
public final class Frames {
    public static void main(String[] args) throws Exception {
        ChannelCredentials credentials = InsecureChannelCredentials.create();
        Metadata metadata = new Metadata();
        List<String> rest = new ArrayList<>();
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--ca")) {
                credentials = TlsChannelCredentials.newBuilder().trustManager(new File(args[++i])).build();
            } else if (args[i].equals("--token-file")) {
                metadata.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
                        "Bearer " + Files.readString(Path.of(args[++i])).strip());
            } else {
                rest.add(args[i]);
            }
        }
        if (rest.size() < 3) {
            System.err.println("usage: Frames [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...");
            System.exit(2);
        }
        Locations.Builder locations = Locations.newBuilder();
        for (String address : rest.subList(2, rest.size())) {
            locations.addKind(LocationKind.LOCATION_KIND_VADDR).addModule(0)
                    .addAddress(Long.parseUnsignedLong(address.replaceFirst("^0x", ""), 16));
        }
        StackBatch batch = StackBatch.newBuilder()
                .addModules(Module.newBuilder()
                        .setBuildId(ByteString.copyFrom(HexFormat.of().parseHex(rest.get(1)))))
                .setLocations(locations)
                .build();
        ManagedChannel channel = Grpc.newChannelBuilder(rest.get(0), credentials).build();
        try {
            print(batch, SymbolizerGrpc.newBlockingStub(channel)
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata))
                    .symbolize(batch));
        } catch (StatusRuntimeException e) {
            System.err.println(e.getStatus().getDescription());
            System.exit(1);
        } finally {
            channel.shutdownNow();
        }
    }

    // The reply is columns: each location has a status and a number of frames, each frame a row of
    // functions and a line, each function the indexes of its strings.
    private static void print(StackBatch batch, SymbolizedBatch reply) {
        int at = 0;
        for (int i = 0; i < batch.getLocations().getAddressCount(); i++) {
            String address = "0x" + Long.toHexString(batch.getLocations().getAddress(i));
            int count = reply.getFrameCount(i);
            if (count == 0) {
                System.out.println(address + " " + reply.getStatus(i));
            }
            for (int n = 0; n < count; n++, at++) {
                int row = reply.getFrameFunction(at);
                System.out.println(address
                        + " " + reply.getStrings(reply.getFunctions().getName(row)).toStringUtf8()
                        + " " + reply.getStrings(reply.getFunctions().getFile(row)).toStringUtf8()
                        + ":" + Integer.toUnsignedString(reply.getFrameLine(at))
                        + (n + 1 < count ? " inlined" : ""));
            }
        }
    }
}
