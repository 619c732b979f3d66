# SPDX-License-Identifier: Apache-2.0
"""Boots a kernel of Debian with a small root in qemu, has it run a job, and brings back what came of
it. By hardware where the machine can, else by emulation, which is some twenty times slower."""
import os
import subprocess
import tarfile
import tempfile

from archive import Unavailable
from machine import Kernel, busybox, root_disk

HERE = os.path.dirname(os.path.abspath(__file__))
OUT_MIB = 512
NOT_RUN = 125


class Failed(Exception):
    """The guest came to no end of its job."""


def accelerator():
    """Some machines have the device and not the processor for it: guests hang there."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    if ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK):
        return ["-accel", "kvm", "-cpu", "host"]
    # Linux 6.12 ends in wild pointers of its allocator where that uses CMPXCHG16B as qemu 7.2 does it.
    # With a thread for each CPU, one of them may run code that another has just patched as it was before:
    # "Oops: int3" when a tracepoint is turned on.
    return ["-accel", "tcg,thread=single", "-cpu", "max,-cx16"]


# --- the initial memory ----------------------------------------------------------------------------


def cpio_entry(name, mode, data=b""):
    """Documentation/driver-api/early-userspace/buffer-format.rst of Linux."""
    path = name.encode() + b"\0"
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + path
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def initial_memory(kernel, root):
    entries = [cpio_entry(d, 0o40755) for d in ("bin", "modules", "guest", "guest/units")]
    files = {"bin/busybox": busybox(root), "init": HERE + "/guest-init",
             "guest/init": HERE + "/guest-plain", "guest/job": HERE + "/guest-job",
             "guest/units/guest-job.service": HERE + "/guest-job.service"}
    files |= {"modules/" + os.path.basename(path): path for path in kernel.boot_modules}
    for name, path in files.items():
        mode = 0o100644 if name.endswith(".service") else 0o100755
        entries.append(cpio_entry(name, mode, read(path)))
    return b"".join(entries) + cpio_entry("TRAILER!!!", 0)


# --- a run -----------------------------------------------------------------------------------------


def run_guest(version, job, out, with_systemd=False, append="", timeout=600, memory_mib=1024,
              cpus=2, packages=()):
    """
    Runs job/job as user 0 in a guest, in a directory that has all that the directory `job` has. What
    it puts into $OUT (/out) is in the directory `out` then, its output as `log`, the guest's console
    as `console`. Returns its exit status. Raises Unavailable, with the reason, where a guest cannot
    be had, and Failed.
    """
    kernel, root = Kernel(version), root_disk(packages)
    os.makedirs(out, exist_ok=True)
    console = os.path.join(out, "console")
    words = ["console=ttyS0", "quiet", "panic=-1", "net.ifnames=0", append]
    if with_systemd:
        words += ["guest.init=/lib/systemd/systemd", "systemd.wants=guest-job.service",
                  "systemd.getty_auto=0", "systemd.show_status=0"]
    with tempfile.TemporaryDirectory(prefix="rawstack-guest-", dir="/var/tmp") as folder:
        with open(folder + "/initrd", "wb") as f:
            f.write(initial_memory(kernel, root))
        with tarfile.open(folder + "/job.tar", "w") as tar:
            tar.add(job, ".", filter=owned_by_root)
        with open(folder + "/out.tar", "wb") as f:
            f.truncate(OUT_MIB << 20)
        argv = ["qemu-system-x86_64", *accelerator(), "-smp", str(cpus), "-m", str(memory_mib),
                "-nodefaults", "-display", "none", "-no-reboot", "-serial", "file:" + console,
                "-kernel", kernel.image, "-initrd", folder + "/initrd", "-append", " ".join(words)]
        # Nothing here outlives a power cut, and dpkg asks for a sync of each file.
        for name, more in ((root, ",snapshot=on,cache=unsafe"), (kernel.modules, ",readonly=on"),
                           (folder + "/job.tar", ",readonly=on"),
                           (folder + "/out.tar", ",cache=unsafe")):
            argv += ["-drive", f"file={name},format=raw,if=virtio{more}"]
        try:
            # The snapshot of the root is a file of qemu's own, in that directory.
            done = subprocess.run(argv, timeout=timeout, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, check=False,
                                  env={**os.environ, "TMPDIR": folder})
        except FileNotFoundError:
            raise Unavailable("qemu-system-x86_64 is not installed") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"it was ended after {timeout} s\n" + end_of(console)) from None
        if done.returncode:
            raise Failed(f"qemu ended with {done.returncode}: {done.stderr.strip()}")
        try:
            with tarfile.open(folder + "/out.tar") as tar:
                tar.extractall(out)
                with tar.extractfile("./status") as f:
                    return int(f.read())
        except (tarfile.TarError, KeyError):
            raise Failed("it wrote no results\n" + end_of(console)) from None


def owned_by_root(member):
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def end_of(console):
    with open(console, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-40:])
