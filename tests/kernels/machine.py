# SPDX-License-Identifier: Apache-2.0
"""What a guest is made of, each made once and kept in $RAWSTACK_CACHE: a kernel of a distribution with
its modules as a disk, and a small root of Debian 12 as a disk. A guest never writes to them."""
import glob
import hashlib
import os
import shutil
import subprocess

from archive import Archive, Unavailable, command, expand, locked, sources

# By the version that people name: the release whose archive has it, the package that depends on the
# newest build, and what that is called.
KERNELS = {
    "5.10": ("bullseye", "linux-image-cloud-amd64", r"linux-image-5\.10\S+-cloud-amd64"),
    "5.15": ("jammy", "linux-image-virtual", r"linux-image-5\.15\S+-generic"),
    "6.1": ("bookworm", "linux-image-cloud-amd64", r"linux-image-6\.1\S+-cloud-amd64"),
    "6.12": ("bookworm-backports", "linux-image-cloud-amd64", r"linux-image-6\.12\S+-cloud-amd64"),
}
# What boots a disk.
BOOT_MODULES = ("virtio_pci", "virtio_blk")

# What our programs link, what tests of them call, and systemd.
PACKAGES = """
    libbpf1 libelf1 libdwarf1 libisal2 libzstd1 liblzma5 zlib1g libxxhash0 libnettle8 libseccomp2
    liblmdb0 libmicrohttpd12 libgrpc29 libprotobuf-c1 libstdc++6
    python3 binutils procps kmod util-linux iproute2 busybox-static curl
    systemd systemd-sysv dbus
""".split()


class Kernel:
    """`release` as uname has it, the path of its `image`, its `modules` as a disk, and those that the
    first steps of a guest load, in order, as `boot_modules`."""

    def __init__(self, version):
        if version not in KERNELS:
            raise Unavailable(f"no kernel {version} is known, only {' '.join(KERNELS)}")
        with locked("kernel-" + version) as folder:
            if not os.path.exists(folder + "/modules.img"):
                make_kernel(folder, *KERNELS[version])
        self.image = glob.glob(folder + "/vmlinuz-*")[0]
        self.release = os.path.basename(self.image).removeprefix("vmlinuz-")
        self.modules = folder + "/modules.img"
        self.boot_modules = sorted(glob.glob(folder + "/boot/*.ko"))


def make_kernel(folder, release, package, pattern):
    shutil.rmtree(folder, ignore_errors=True)
    partial = folder + "/partial"
    os.makedirs(partial)
    archive = Archive(release)
    name = archive.real_name(package, pattern)
    names = [name]
    if release == "jammy": # Ubuntu has modules apart
        names.append(name.replace("linux-image-", "linux-modules-"))
    archive.unpack(names, partial)
    image = glob.glob(partial + "/boot/vmlinuz-*")[0]
    version = os.path.basename(image).removeprefix("vmlinuz-")
    modules = glob.glob(partial + "/lib/modules/*") + glob.glob(partial + "/usr/lib/modules/*")
    top = os.path.join(folder, "tree")
    os.makedirs(top + "/lib/modules")
    os.rename(modules[0], f"{top}/lib/modules/{version}")
    command("depmod", "-b", top, version)
    os.makedirs(folder + "/boot")
    for number, path in enumerate(load_order(top, version)):
        short = os.path.basename(path).split(".")[0]
        with open(f"{folder}/boot/{number:02}-{short}.ko", "wb") as f:
            f.write(expand(path))
    os.rename(image, f"{folder}/vmlinuz-{version}")
    make_disk(f"{top}/lib/modules", folder + "/modules.img", 16)
    shutil.rmtree(top)
    shutil.rmtree(partial)


def load_order(top, version):
    """Files of the modules that boot, each behind those it needs; none where they are built in."""
    paths = []
    for name in BOOT_MODULES:
        text = command("modprobe", "-d", top, "-S", version, "--show-depends", name)
        for line in text.splitlines():
            if line.startswith("insmod ") and line.split()[1] not in paths:
                paths.append(line.split()[1])
    return paths


def make_disk(tree, path, spare_mib):
    """An ext4 file system with what is in the tree."""
    used = int(command("du", "-s", "--block-size=1M", tree).split()[0])
    partial = path + ".partial"
    with open(partial, "wb") as f:
        f.truncate((used * 5 // 4 + spare_mib) << 20)
    # Without a journal: nobody mounts it after a crash.
    command("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", tree, partial)
    os.rename(partial, path)


def root_disk(more_packages=()):
    """The path of a disk with Debian 12: those packages, and what is above."""
    packages = sorted({*PACKAGES, *more_packages})
    key = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    with locked("root-" + key) as folder:
        path = folder + "/root.img"
        if not os.path.exists(path):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            make_root(packages, folder)
            make_disk(folder + "/tree", path, 1536)
            shutil.rmtree(folder + "/tree")
    return path


def make_root(packages, folder):
    tree = folder + "/tree"
    if os.geteuid():
        raise Unavailable("a root of Debian is made by user 0 only")
    lines = "\n".join(sources("bookworm")) + "\n"
    done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root",
                           "--include=" + ",".join(packages),
                           "--dpkgopt=path-exclude=/usr/share/doc/*",
                           "--dpkgopt=path-exclude=/usr/share/man/*",
                           "--dpkgopt=path-exclude=/usr/share/locale/*",
                           "bookworm", tree, "-"], input=lines, capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode:
        raise Unavailable("mmdebstrap: " + (done.stderr.strip() or "no message").splitlines()[-1])
    shutil.copy(tree + "/bin/busybox", folder + "/busybox")


def busybox(root):
    """The one program that the first steps of a guest have."""
    return os.path.join(os.path.dirname(root), "busybox")
