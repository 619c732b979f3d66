# SPDX-License-Identifier: Apache-2.0
"""What the faults of the service share, for tests/fault/run: programs with known answers, and what an answer
of the service must be."""
import time

from service_client import addresses_of, bins, common, compile_program, grpc, read, sym

MIB = 1 << 20
SKIPPED = []


class Binaries:
    """One program under many build ids, so that each is a binary of its own with a known answer."""

    def __init__(self):
        self.path = compile_program("program", "-Wl,--build-id=0x" + "ab" * 20)
        self.content = read(self.path)
        self.address = addresses_of(self.path, "outer")[0]

    def id(self, number):
        return number.to_bytes(20, "big")

    def make(self, number, padding=0):
        return self.content.replace(b"\xab" * 20, self.id(number)) + bytes(padding)


class Lost(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Lost(text)


def resolves(service, binaries, number):
    """Whether the right answer comes; any wrong one is a loss."""
    reply = service.symbolizer.Resolve(
        sym.ResolveRequest(build_id=binaries.id(number), addresses=[binaries.address]))
    a = reply.addresses[0]
    if a.status == common.LOCATION_STATUS_RESOLVED:
        check(a.frames[-1].function == b"outer" and a.frames[-1].file.endswith(b"program.c"),
              f"binary {number}: a wrong answer: {a}")
        return True
    check(not a.frames, f"binary {number}: frames with status {a.status}")
    return False


def build_ends(service, binaries, number):
    """Nobody begins it anew: what was finished is built."""
    deadline = time.monotonic() + 120
    try:
        while service.binaries.Get(bins.GetRequest(build_id=binaries.id(number))).status == \
                common.MODULE_STATUS_BUILDING:
            check(time.monotonic() < deadline, f"the build of binary {number} does not end")
            time.sleep(0.02)
    except grpc.RpcError as e:
        check(e.code() == grpc.StatusCode.NOT_FOUND, e.details())
