# SPDX-License-Identifier: Apache-2.0
"""A Debian 12 that has nothing but what each Debian has, as a directory to run commands in. What is
downloaded is kept in $RAWSTACK_CACHE, so that a second run needs no network."""
import contextlib
import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kernels"))
from archive import CACHE, Unavailable, command, locked, sources  # noqa: E402

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
ENVIRONMENT = {"HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
APT = """\
APT::Get::Assume-Yes "true";
APT::Keep-Downloaded-Packages "true";
Binary::apt::APT::Keep-Downloaded-Packages "true";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
DPkg::Options:: "--force-unsafe-io";
"""


def unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise Unavailable("unshare: " + os.strerror(ctypes.get_errno()))


def leave_mounts():
    """What this process mounts from now on nobody else sees, and it is gone when the process is."""
    unshare(CLONE_NEWNS)
    command("mount", "--make-rprivate", "/")


def leave_network():
    """From now on this process and what it starts have a loopback interface of their own."""
    unshare(CLONE_NEWNET)
    command("ip", "link", "set", "lo", "up")


def remove(tree):
    """Should something of this machine be mounted below, that is left alone."""
    command("rm", "-rf", "--one-file-system", tree)


def base():
    """The directory with the system itself, and the cache of packages beside it."""
    if os.geteuid():
        raise Unavailable("a root of Debian is made by user 0 only")
    with locked("clean") as folder:
        tree = folder + "/base"
        os.makedirs(folder + "/archives/partial", exist_ok=True)
        if not os.path.exists(tree):
            partial = folder + "/partial"
            if os.path.exists(partial):
                remove(partial)
            done = subprocess.run(
                ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root",
                 "--skip=cleanup/apt/lists", "--include=ca-certificates", "bookworm", partial, "-"],
                input="\n".join(sources("bookworm")) + "\n", capture_output=True, text=True,
                errors="replace", check=False)
            if done.returncode:
                last = (done.stderr.strip() or "no message").splitlines()[-1]
                raise Unavailable(f"mmdebstrap: {last}")
            with open(partial + "/etc/apt/apt.conf.d/01test", "w", encoding="ascii") as f:
                f.write(APT)
            os.rename(partial, tree)
    return folder


class CleanRoot:
    """A copy of it at `path`, in which commands run as user 0. What apt() downloads there is kept; a root
    with archives of its own has what was kept until now, and others need not wait for its apt-get."""

    def __init__(self, path, has_own_archives=False):
        folder = base()
        self.path = os.path.abspath(path)
        if os.path.exists(self.path):
            remove(self.path)
        command("cp", "-a", folder + "/base", self.path)
        command("cp", "-L", "/etc/resolv.conf", self.path + "/etc/resolv.conf")
        self.write_hosts()
        self.mounts = []
        # Inside, / is a mount of its own, as programs that make a name space of mounts expect.
        self.mount(self.path, "")
        for what in ("/proc", "/sys", "/dev"):
            self.mount(what, what)
        if has_own_archives:
            command("cp", "-a", "--reflink=auto", folder + "/archives", self.path + "/var/cache/apt/")
        else:
            self.mount(folder + "/archives", "/var/cache/apt/archives")

    def write_hosts(self):
        """As Debian's installer does: without it, name servers are asked for localhost."""
        with open(self.path + "/etc/hosts", "w", encoding="ascii") as f:
            f.write(f"127.0.0.1\tlocalhost\n127.0.1.1\t{os.uname().nodename}\n\n"
                    "::1\tlocalhost ip6-localhost ip6-loopback\n")

    def mount(self, what, where):
        os.makedirs(self.path + where, exist_ok=True)
        command("mount", "--rbind", what, self.path + where)
        self.mounts.append(where)

    def close(self):
        for where in reversed(self.mounts):
            command("umount", "--recursive", "--lazy", self.path + where)
        remove(self.path)

    def inside(self, path):
        return self.path + path

    def argv(self, line, cwd):
        """With the tree as the root of a mount namespace, as on a machine or in a container of its own: in
        a mere chroot, the kernel's names of files would begin somewhere else."""
        return ["unshare", "--mount", "/bin/sh", "-c",
                'cd "$0" && pivot_root . mnt && exec /bin/bash -o pipefail -c '
                "'umount --lazy /mnt && cd \"$1\" && eval \"$2\"' - \"$@\"", self.path, cwd, line]

    def start(self, line, log, cwd="/root"):
        """In the background, as `line &` would."""
        with open(log, "w", encoding="utf-8") as f:
            return subprocess.Popen(self.argv("exec " + line, cwd), env=ENVIRONMENT, stdout=f,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def run(self, line, cwd="/root"):
        """(status, what it prints)"""
        done = subprocess.run(self.argv(line, cwd), env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        return done.returncode, done.stdout

    def run_long(self, line, log, cwd="/root"):
        """As run(), with what it prints in the file `log`, which can be read meanwhile."""
        child = self.start(line, log, cwd)
        try:
            status = child.wait()
        finally:
            child.kill()
        with open(log, encoding="utf-8", errors="replace") as f:
            return status, f.read()

    def apt(self, line, cwd="/root"):
        """An apt-get line: with what was kept, else with what the archive has now. One at a time: what is
        kept is shared."""
        with locked("clean-apt"):
            return self.apt_alone(line, cwd)

    def apt_alone(self, line, cwd):
        status, text = self.run(line, cwd)
        if status and any(word in text for word in ("Unable to fetch", "Unable to locate",
                                                    "Failed to fetch")):
            status, _ = self.run("apt-get -q update")
            if status:
                raise Unavailable("Debian's archive cannot be reached")
            status, text = self.run(line, cwd)
        return status, text

    @contextlib.contextmanager
    def running(self, line, log, cwd="/root"):
        child = self.start(line, log, cwd)
        try:
            yield child
        finally:
            child.terminate()
            child.wait()
