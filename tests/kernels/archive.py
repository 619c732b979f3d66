# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian's and Ubuntu's archives that need not be those of this machine's release: found,
checked by their signatures and unpacked below $RAWSTACK_CACHE. Nothing is installed."""
import contextlib
import fcntl
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import urllib.request

CACHE = os.environ.get("RAWSTACK_CACHE", "/var/cache/rawstack-tests")

DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
# Ubuntu's keys are in a package of its own archive; what the tree knows of it is its hash.
UBUNTU_KEYS = (UBUNTU + "/pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb",
               "0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f")


class Unavailable(Exception):
    pass


@contextlib.contextmanager
def locked(name):
    """One process at a time makes what lies under that name in the cache."""
    try:
        os.makedirs(CACHE, exist_ok=True)
        with open(os.path.join(CACHE, name + ".lock"), "w", encoding="ascii") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield os.path.join(CACHE, name)
    except OSError as e:
        raise Unavailable(f"{CACHE}/{name}: {e}") from None


def command(*argv, **options):
    """What it prints; its last line of complaint is the reason that it cannot be had."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, check=False, **options)
    except FileNotFoundError:
        raise Unavailable(f"{argv[0]} is not installed") from None
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"{argv[0]}: {last}")
    return done.stdout


def mirrors():
    """Where this machine has Debian from, and its security updates."""
    found = {"debian": "http://deb.debian.org/debian",
             "security": "http://deb.debian.org/debian-security"}
    with contextlib.suppress(Unavailable):
        lines = command("apt-get", "indextargets", "--format", "$(RELEASE) $(ORIGIN) $(REPO_URI)",
                        "Created-By: Packages").splitlines()
        for line in lines:
            release, origin, uri = (line.split() + ["", "", ""])[:3]
            if origin == "Debian":
                found["security" if release.endswith("-security") else "debian"] = uri.rstrip("/")
    return found


def sources(release):
    """Lines of a sources.list: of a release of Debian with its updates, or of Ubuntu."""
    if release in ("jammy",):
        keys = ubuntu_keys()
        return [f"deb [signed-by={keys}] {UBUNTU} {release}{more} main"
                for more in ("", "-updates")]
    at = mirrors()
    base = release.split("-")[0]
    lines = [f"deb [signed-by={DEBIAN_KEYS}] {at['debian']} {base} main",
             f"deb [signed-by={DEBIAN_KEYS}] {at['security']} {base}-security main"]
    if base != release:
        lines.append(f"deb [signed-by={DEBIAN_KEYS}] {at['debian']} {release} main")
    return lines


def ubuntu_keys():
    url, wanted = UBUNTU_KEYS
    with locked("ubuntu-keyring") as folder:
        path = os.path.join(folder, "usr/share/keyrings/ubuntu-archive-keyring.gpg")
        if not os.path.exists(path):
            with urllib.request.urlopen(url, timeout=60) as f:
                data = f.read(1 << 20)
            if hashlib.sha256(data).hexdigest() != wanted:
                raise Unavailable(f"{url}: is not the file that it was")
            os.makedirs(folder, exist_ok=True)
            with open(folder + "/keys.deb", "wb") as f:
                f.write(data)
            command("dpkg-deb", "-x", folder + "/keys.deb", folder)
        return path


class Archive:
    """apt with a state of its own; the machine's is not touched."""

    def __init__(self, release):
        self.release = release
        self.folder = os.path.join(CACHE, "apt-" + release)
        for sub in ("state/lists/partial", "cache/archives/partial", "etc"):
            os.makedirs(os.path.join(self.folder, sub), exist_ok=True)
        with open(self.folder + "/etc/sources.list", "w", encoding="ascii") as f:
            f.write("\n".join(sources(release)) + "\n")
        self.options = []
        for key, value in (("Dir::State", "state"), ("Dir::Cache", "cache"), ("Dir::Etc", "etc"),
                           ("Dir::Etc::sourcelist", "etc/sources.list"),
                           ("Dir::State::status", "state/status")):
            self.options += ["-o", f"{key}={self.folder}/{value}"]
        self.options += ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none",
                         "-o", "Acquire::Check-Valid-Until=false", "-o", "APT::Architecture=amd64"]
        with open(self.folder + "/state/status", "a", encoding="ascii"):
            pass
        command("apt-get", *self.options, "-q", "update")
        if release.endswith("-backports"):
            self.options += ["-t", release]

    def depends(self, package):
        return command("apt-cache", *self.options, "depends", "--no-recommends", "--no-suggests",
                       package)

    def real_name(self, package, pattern):
        """Of a package that only depends on the newest one: that."""
        found = re.search(rf"Depends: ({pattern})$", self.depends(package), re.M)
        if not found:
            raise Unavailable(f"{self.release}: {package} depends on no {pattern}")
        return found[1]

    def unpack(self, packages, folder):
        """Of each the files, into the folder."""
        debs = folder + "/debs"
        os.makedirs(debs)
        command("apt-get", *self.options, "-q", "download", *packages, cwd=debs)
        for deb in glob.glob(debs + "/*.deb"):
            command("dpkg-deb", "-x", deb, folder)
        shutil.rmtree(debs)


def expand(path):
    """A module of the kernel, whatever packs it: a program of a few lines shall load it."""
    with open(path, "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data
