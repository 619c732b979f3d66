# SPDX-License-Identifier: Apache-2.0
"""Compilers for the example clients. This machine's are taken if they are new enough. Debian 12's Go and
Rust are older than the libraries of gRPC want, so newer ones are downloaded then, once, into the cache:
Go from its module proxy, Rust from the packages that Debian builds its browsers with. Nothing is
installed."""
import glob
import os
import re
import shutil
import subprocess
import urllib.request

CACHE = os.path.join(os.environ.get("RAWSTACK_CACHE", "/var/cache/rawstack-tests"), "examples")
GO_PROXY = re.split("[,|]", os.environ.get("GOPROXY") or "https://proxy.golang.org")[0]
GO_TOOLCHAIN = "v0.0.1-go1.23.4.linux-amd64"
RUST_PACKAGES = ["rustc-web", "cargo-web"]


class Unavailable(Exception):
    pass


def is_there(command, wanted):
    """Whether the program is here, and not older."""
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r"(\d+)\.(\d+)", said)
    return bool(found) and tuple(map(int, found.groups())) >= wanted


def require(command, wanted):
    if not is_there(command, wanted):
        raise Unavailable(f"{command[0]} of version {'.'.join(map(str, wanted))} or later is not installed")


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise Unavailable(f"{command[0]}: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return done.stdout


def kept(name, fill):
    """The folder of that name in the cache; what is not there is filled in first."""
    folder = os.path.join(CACHE, name)
    if os.path.isdir(folder):
        return folder
    partial = f"{folder}.partial-{os.getpid()}"
    try:
        os.makedirs(partial)
        fill(partial)
        os.rename(partial, folder)
    except (OSError, subprocess.SubprocessError, Unavailable) as e:
        if not os.path.isdir(folder):  # else another run has made it meanwhile
            raise Unavailable(f"{name}: {e}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def fill_go(folder):
    address = f"{GO_PROXY}/golang.org/toolchain/@v/{GO_TOOLCHAIN}.zip"
    with urllib.request.urlopen(address, timeout=300) as page, open(f"{folder}/go.zip", "wb") as to:
        shutil.copyfileobj(page, to)
    run("unzip", "-q", "go.zip", cwd=folder)
    os.remove(f"{folder}/go.zip")
    os.rename(f"{folder}/golang.org/toolchain@{GO_TOOLCHAIN}", f"{folder}/go")
    # Files of a module are not executable.
    for pattern in ("bin/*", "pkg/tool/*/*"):
        for program in glob.glob(f"{folder}/go/{pattern}"):
            os.chmod(program, 0o755)


def fill_rust(folder):
    # With what else they need that is not installed. A simulation needs no rights.
    plan = run("apt-get", "-s", "-q", "--no-install-recommends", "install", *RUST_PACKAGES)
    packages = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+)", plan, re.M)
    run("apt-get", "-q", "download", *(f"{name}={version}" for name, version in packages), cwd=folder)
    for package in glob.glob(f"{folder}/*.deb"):
        run("dpkg-deb", "-x", package, folder)
        os.remove(package)


def go():
    """The environment of a Go of 1.22 or later; empty if this machine has it."""
    if is_there(["go", "version"], (1, 22)):
        return {}
    root = kept(GO_TOOLCHAIN, fill_go) + "/go"
    return {"PATH": f"{root}/bin:{os.environ['PATH']}", "GOROOT": root, "GOTOOLCHAIN": "local"}


def rust():
    """The environment of a Rust of 1.85 or later, the same way."""
    if is_there(["cargo", "--version"], (1, 85)) and is_there(["rustc", "--version"], (1, 85)):
        return {}
    root = kept("rust-web", fill_rust) + "/usr"
    return {"PATH": f"{root}/bin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": f"{root}/lib/x86_64-linux-gnu"}
