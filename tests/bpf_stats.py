# SPDX-License-Identifier: Apache-2.0
"""The kernel's own count of what a BPF program runs and takes, by bpf(2), for tests and benchmarks.
Needs CAP_SYS_ADMIN. Shares nothing with the sampler, so that it can judge its numbers."""
import ctypes
import glob
import os
import struct

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_GET_NEXT_ID, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, ENABLE_STATS = 11, 13, 15, 32
INFO_LEN = 224  # struct bpf_prog_info up to run_cnt and beyond, Linux 5.12
NAME_AT, RUN_TIME_AT = 64, 192
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    attr = bytearray(attr.ljust(128, b"\0"))
    buf = (ctypes.c_char * len(attr)).from_buffer(attr)
    rc = libc.syscall(SYS_BPF, command, buf, len(attr))
    if rc < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return rc, bytes(attr)


class Stats:
    """Counting is on as long as this is open; it was off before, so it is off after a crash."""

    def __enter__(self):
        self.fd = bpf(ENABLE_STATS, struct.pack("<I", 0))[0]
        return self

    def __exit__(self, *_):
        os.close(self.fd)


class Program:
    """The newest program of that name, of those that the process has open; it stays as long as this is
    open."""

    def __init__(self, name, pid=None):
        at, self.fd = 0, -1
        ours = None if pid is None else self.ids(pid)
        while True:
            try:
                at = struct.unpack_from("<II", bpf(PROG_GET_NEXT_ID, struct.pack("<I", at))[1])[1]
                fd = bpf(PROG_GET_FD_BY_ID, struct.pack("<I", at))[0]
            except FileNotFoundError:
                break
            if (ours is None or at in ours) and \
                    self.info(fd)[NAME_AT:NAME_AT + 16].rstrip(b"\0").decode() == name[:15]:
                self.close()
                self.fd = fd
            else:
                os.close(fd)
        if self.fd < 0:
            raise LookupError(name)

    @staticmethod
    def ids(pid):
        found = set()
        for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
            try:
                with open(path, encoding="ascii") as f:
                    found.update(int(l.split()[1]) for l in f if l.startswith("prog_id:"))
            except FileNotFoundError:
                pass
        return found

    @staticmethod
    def info(fd):
        buf = (ctypes.c_char * INFO_LEN)()
        bpf(OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", fd, INFO_LEN, ctypes.addressof(buf)))
        return bytes(buf)

    def runs(self):
        """Number of runs, and nanoseconds of all together."""
        ns, count = struct.unpack_from("<QQ", self.info(self.fd), RUN_TIME_AT)
        return count, ns

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
