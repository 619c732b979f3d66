# SPDX-License-Identifier: Apache-2.0
"""What the service tests share: a service of their own, and a client of it that is not ours, made
of Debian's python3-grpcio and code that protoc and grpc_python_plugin write here and now."""
import faulthandler
import hashlib
import importlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

faulthandler.dump_traceback_later(580, exit=True)
BIN = os.environ["RAWSTACK_BIN"]
SRC = os.environ["RAWSTACK_SRC"]
PLUGIN = shutil.which("grpc_python_plugin")


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


try:
    import grpc
    from google.protobuf import descriptor_pb2
except ImportError:
    skip("python3-grpcio is not installed")
if not PLUGIN:
    skip("protobuf-compiler-grpc is not installed")

PROTOS = ["rawstack/v1/common.proto", "rawstack/v1/symbolizer.proto", "rawstack/v1/binaries.proto",
          "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
          "grpc/reflection/v1alpha/reflection.proto", "google/rpc/status.proto"]


def generate():
    """The folders grpc/ and google/ would hide the packages of that name, so ours are generated as
    wire_*/."""
    out = os.path.abspath("generated")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    subprocess.run(["protoc", "-I", os.path.join(SRC, "proto"), f"--python_out={out}",
                    f"--grpc_python_out={out}",
                    f"--plugin=protoc-gen-grpc_python={PLUGIN}", *PROTOS], check=True)
    os.rename(os.path.join(out, "grpc"), os.path.join(out, "wire_grpc"))
    os.rename(os.path.join(out, "google"), os.path.join(out, "wire_google"))
    for top, _, names in os.walk(out):
        for name in names:
            path = os.path.join(top, name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            text = re.sub(r"from grpc\.(health|reflection)", r"from wire_grpc.\1", text)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    sys.path.insert(0, out)


generate()
common = importlib.import_module("rawstack.v1.common_pb2")
sym = importlib.import_module("rawstack.v1.symbolizer_pb2")
sym_grpc = importlib.import_module("rawstack.v1.symbolizer_pb2_grpc")
bins = importlib.import_module("rawstack.v1.binaries_pb2")
bins_grpc = importlib.import_module("rawstack.v1.binaries_pb2_grpc")
status_pb2 = importlib.import_module("wire_google.rpc.status_pb2")
health = importlib.import_module("wire_grpc.health.v1.health_pb2")
health_grpc = importlib.import_module("wire_grpc.health.v1.health_pb2_grpc")
reflection = {v: (importlib.import_module(f"wire_grpc.reflection.{v}.reflection_pb2"),
                  importlib.import_module(f"wire_grpc.reflection.{v}.reflection_pb2_grpc"))
              for v in ("v1", "v1alpha")}


class Service:
    """A rawstack-symbolizer on a free port. prefix: a command that starts it, with its arguments."""

    stderr = None  # a file for its log, from the next start on

    def __init__(self, data, *args, prefix=(), fresh=True):
        if fresh:
            shutil.rmtree(data, ignore_errors=True)
        self.data = data
        self.args = args
        self.prefix = prefix
        self.start()

    def start(self):
        # Of its own: a service that has just begun to listen may not be done with it yet.
        port_file = os.path.abspath(self.data.replace("/", "_") + ".port")
        if os.path.exists(port_file):
            os.remove(port_file)
        # It dies with the thread that started it. Not by preexec_fn: that makes Python fork, and what
        # gRPC does at a fork aborts now and then.
        self.process = subprocess.Popen(
            [*self.prefix, "setpriv", "--pdeathsig", "KILL",
             os.path.join(BIN, "rawstack-symbolizer"), "--data", self.data,
             *(() if "--listen" in self.args else ("--listen", "127.0.0.1:0")),
             "--port-file", port_file, *self.args],
            stderr=self.stderr)
        deadline = time.monotonic() + 300
        while not os.path.exists(port_file):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the service did not start")
            time.sleep(0.01)
        with open(port_file, encoding="ascii") as f:
            self.ports = [int(line) for line in f]
        self.address = f"127.0.0.1:{self.ports[0]}"
        self.channel = grpc.insecure_channel(self.address)
        self.symbolizer = sym_grpc.SymbolizerStub(self.channel)
        self.binaries = bins_grpc.BinariesStub(self.channel)

    def stop(self, how=signal.SIGTERM):
        self.channel.close()
        self.process.send_signal(how)
        return self.process.wait(timeout=300)

    def listed(self):
        found, page = [], self.binaries.List(bins.ListRequest())
        while True:
            found += [b.build_id for b in page.binaries if b.status == common.MODULE_STATUS_READY]
            if not page.next_page_token:
                return found
            page = self.binaries.List(bins.ListRequest(page_token=page.next_page_token))

    def begin(self, build_id, content, **more):
        """A cut stream takes a moment to be noticed."""
        request = bins.BeginRequest(build_id=build_id, size=len(content),
                                    **{"sha256": hashlib.sha256(content).digest(), **more})
        deadline = time.monotonic() + 300
        while True:
            reply = self.binaries.Begin(request)
            if reply.status != bins.BEGIN_STATUS_IN_PROGRESS or time.monotonic() > deadline:
                return reply
            time.sleep(0.05)

    def push(self, build_id, content, chunk=1 << 20, **more):
        reply = self.begin(build_id, content, **more)
        assert reply.status == bins.BEGIN_STATUS_NEEDED, reply
        chunks = (bins.UploadChunk(upload_id=reply.upload_id, offset=at,
                                   data=content[at:at + chunk])
                  for at in range(reply.offset, len(content), chunk))
        # Nothing is to be sent when an earlier one sent all of it.
        if reply.offset < len(content):
            got = self.binaries.Upload(chunks)
            assert got.received == len(content), got
        return self.binaries.Finish(bins.FinishRequest(upload_id=reply.upload_id, wait=True),
                                    timeout=120)


# As tests/skips.allow has it.
NO_NODE = "no Node.js with grpc-js: npm is not installed, or its registry cannot be reached"
PACKAGES = ["@grpc/grpc-js@1.12.6", "@grpc/proto-loader@0.7.13"]


def node_modules():
    """Downloaded once."""
    cache = os.environ.get("RAWSTACK_CACHE", "/var/cache/rawstack-tests")
    folder = os.path.join(cache, "node-grpc")
    modules = os.path.join(folder, "node_modules")
    if not shutil.which("node"):
        skip(NO_NODE)
    if not os.path.isdir(modules):
        partial = f"{folder}.partial-{os.getpid()}"
        try:
            os.makedirs(partial)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                            "--fetch-retries", "1", "--prefix", partial, *PACKAGES],
                           check=True, timeout=300, stdout=subprocess.DEVNULL)
            os.rename(partial, folder)
        except (OSError, subprocess.SubprocessError):
            if not os.path.isdir(modules):
                skip(NO_NODE)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return modules


def failed(code, function, *args, text="", **kwargs):
    """The call must fail with this status, and its details hold the text."""
    try:
        reply = function(*args, **kwargs)
        if hasattr(reply, "__next__"):
            reply = list(reply)
    except grpc.RpcError as e:
        assert e.code() == code, f"{e.code()}: {e.details()}, expected {code}"
        assert text in e.details(), f"'{e.details()}' does not say '{text}'"
        assert "\n" not in e.details()
        return
    raise AssertionError(f"expected {code}, got {reply}")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    with open(path, "wb") as f:
        f.write(content)


def build_id_of(path):
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path))[1])


def elf(build_id, sections):
    """A little-endian ELF64 file: sections is [(name, type, flags, content)]."""
    note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id
    sections = [("", 0, 0, b""), (".note.gnu.build-id", 7, 2, note),
                (".text", 8, 6, b""), *sections]
    names = b"".join(s[0].encode() + b"\0" for s in sections) + b".shstrtab\0"
    sections.append((".shstrtab", 3, 0, names))
    body, table, at, name = b"", b"", 64, 0
    for title, kind, flags, content in sections:
        size = 0x1000000 if kind == 8 else len(content)
        table += struct.pack("<IIQQQQIIQQ", name, kind, flags, 0x1000 if flags & 2 else 0,
                             at + len(body), size, 0, 0, 4, 0)
        name += len(title) + 1
        body += content + bytes(-len(content) % 8)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at + len(body), 0, 64, 0, 0, 64, len(sections),
        len(sections) - 1)
    return head + body + table


def shared_ranges(functions, length):
    """Functions that all have one list of ranges: far more spans than the file has bytes."""
    abbrev = bytes([1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x03, 0x08, 0x55, 0x17, 0, 0, 0])
    unit = struct.pack("<HBBI", 5, 1, 8, 0) + bytes([1]) + (
        bytes([2]) + b"f\0" + struct.pack("<I", 12)) * functions + bytes([0])
    entries = b"".join(b"\x07" + struct.pack("<Q", 0x1000 + 16 * i) + b"\x08"
                       for i in range(length)) + b"\0"
    lists = struct.pack("<IHBBI", len(entries) + 8, 5, 8, 0, 0) + entries
    return [(".debug_abbrev", 1, 0, abbrev),
            (".debug_info", 1, 0, struct.pack("<I", len(unit)) + unit),
            (".debug_rnglists", 1, 0, lists)]


PROGRAM = r"""
#include <stdio.h>
static volatile int sink;
static inline __attribute__((always_inline)) int innermost(int n)
{
	sink = n;
	return sink * 3;
}
static inline __attribute__((always_inline)) int middle(int n)
{
	return innermost(n + 1) + 1;
}
__attribute__((noinline)) int outer(int n)
{
	return middle(n) * 2;
}
int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", outer(argc));
	return 0;
}
"""


def compile_program(name, *flags):
    """A binary with a build id, inlined calls and debug information; its path."""
    write("program.c", PROGRAM.encode())
    run(os.environ.get("CC", "cc"), "-O2", "-g", "-Wl,--build-id=sha1", *flags, "-o", name,
        "program.c")
    return os.path.abspath(name)


def addresses_of(path, function):
    """(start, length) of a function, from the symbol table."""
    for line in run("nm", "-S", path).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[3] == function:
            return int(fields[0], 16), int(fields[1], 16)
    raise AssertionError(f"no symbol {function}")


def addr2line(path, addresses):
    """For each address the chain as [(function, file:line)], innermost first."""
    text = run("addr2line", "-a", "-f", "-i", "-e", path, *[hex(a) for a in addresses])
    chains = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            chains.append([])
        else:
            where = next(lines).split(" (discriminator")[0]
            chains[-1].append((line, where))
    return chains
