#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frames.py [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...
Prints the frames of link-time addresses of a binary, innermost first."""
import argparse

import grpc
from rawstack.v1 import common_pb2, symbolizer_pb2, symbolizer_pb2_grpc

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--ca", help="certificate of the service's CA; without it, plain text")
parser.add_argument("--token-file")
parser.add_argument("server")
parser.add_argument("build_id", type=bytes.fromhex)
parser.add_argument("address", type=lambda text: int(text, 16), nargs="+")
args = parser.parse_args()

metadata = []
if args.token_file:
    with open(args.token_file, encoding="ascii") as f:
        metadata.append(("authorization", "Bearer " + f.read().strip()))
if args.ca:
    with open(args.ca, "rb") as f:
        channel = grpc.secure_channel(args.server, grpc.ssl_channel_credentials(f.read()))
else:
    channel = grpc.insecure_channel(args.server)

count = len(args.address)
reply = symbolizer_pb2_grpc.SymbolizerStub(channel).Symbolize(symbolizer_pb2.StackBatch(
    modules=[symbolizer_pb2.Module(build_id=args.build_id)],
    locations=symbolizer_pb2.Locations(kind=[common_pb2.LOCATION_KIND_VADDR] * count,
                                       module=[0] * count, address=args.address)),
    metadata=metadata)


def text(string):
    return reply.strings[string].decode(errors="replace")


# The reply is columns: each location has a status and a number of frames, each frame a row of
# functions and a line, each function the indexes of its strings.
at = 0
for address, status, frames in zip(args.address, reply.status, reply.frame_count):
    if not frames:
        print(f"{address:#x} {common_pb2.LocationStatus.Name(status)}")
    for n in range(frames):
        function = reply.frame_function[at]
        print(f"{address:#x} {text(reply.functions.name[function])}"
              f" {text(reply.functions.file[function])}:{reply.frame_line[at]}"
              f"{' inlined' if n + 1 < frames else ''}")
        at += 1
