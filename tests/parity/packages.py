# SPDX-License-Identifier: Apache-2.0
"""Debug files of Debian packages, downloaded once into $RAWSTACK_CACHE and unpacked there. Nothing
is installed."""
import fnmatch
import glob
import os
import re
import shutil
import subprocess

CACHE = os.environ.get("RAWSTACK_CACHE", "/var/cache/rawstack-tests")

# (package, its files by name, how many of the largest, how many with --full). Most debug files are
# named after their build id.
INPUTS = [
    ("libc6-dbg", "*.debug", 1, 4),
    ("python3.11-dbg", "*.debug", 1, 4),
    ("openjdk-17-dbg", "*.debug", 0, 1),  # libjvm
    ("valgrind-dbg", "*.debug", 0, 2),
    ("libgsl-dbg", "*.debug", 0, 2),
    ("linux-image-cloud-amd64-dbg", "vmlinux-*", 0, 1),
    ("linux-image-cloud-amd64-dbg", "*.ko", 0, 50),
]


class Unavailable(Exception):
    pass


def real_package(package):
    """A package that is empty and only depends on the current version: that version."""
    text = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True).stdout
    stem = re.escape(package).replace("linux\\-image\\-", r"linux-image-[0-9][\w.+-]*-")
    found = re.search(rf"Depends: ({stem})$", text, re.M)
    return found[1] if found else package


def unpacked(package):
    """The folder that holds the files of a package; downloads it when it is not there."""
    package = real_package(package)
    folder = os.path.join(CACHE, package)
    if os.path.isdir(folder):
        return folder
    partial = folder + f".partial-{os.getpid()}"
    try:
        os.makedirs(partial)
        # apt drops to a user of its own for downloads, which may not write here: that is only a
        # warning.
        for argv in (["apt-get", "-q", "download", package], ["dpkg-deb", "-x", None, "."]):
            argv = [a or glob.glob(os.path.join(partial, "*.deb"))[0] for a in argv]
            done = subprocess.run(argv, cwd=partial, capture_output=True, text=True)
            if done.returncode:
                last = (done.stderr.strip() or "no message").splitlines()[-1]
                raise Unavailable(f"{package}: {argv[0]}: {last}")
        for deb in glob.glob(os.path.join(partial, "*.deb")):
            os.remove(deb)
        os.rename(partial, folder)
    except OSError as e:
        raise Unavailable(f"{package}: {e}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def largest(folder, pattern, count):
    found = []
    for where, _, names in os.walk(os.path.join(folder, "usr/lib/debug")):
        for name in fnmatch.filter(names, pattern):
            path = os.path.join(where, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append((os.path.getsize(path), path))
    if not found:
        raise Unavailable(f"{folder}: has no {pattern}")
    return [path for _, path in sorted(found, reverse=True)[:count]]


def files(full):
    """[(name, path, why there is none)]"""
    result = []
    for package, pattern, some, more in INPUTS:
        count = more if full else some
        if not count:
            continue
        try:
            paths = largest(unpacked(package), pattern, count)
        except Unavailable as e:
            result.append((package, "", str(e)))
            continue
        if pattern == "*.ko":
            result += [(f"{package}-{os.path.basename(p)}", p, "") for p in paths]
            continue
        result += [(package + (f"-{i}" if i > 1 else ""), p, "") for i, p in enumerate(paths, 1)]
    return result
