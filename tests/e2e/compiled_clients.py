# SPDX-License-Identifier: Apache-2.0
"""Clients in Go, Java and Rust, built of the contract by tests/run --full, into the cache; later runs use
what was built of the same sources."""
import faulthandler
import hashlib
import os
import shutil
import subprocess

import toolchains
from service_client import SRC, read, skip
from toolchains import CACHE

PROTOS = [f"rawstack/v1/{name}.proto" for name in ("binaries", "common", "symbolizer")]
GO_PLUGINS = {"go": "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6",
              "go-grpc": "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1",
              "connect-go": "connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.18.1"}

# A hundred libraries, from source, beside other tests: 3 minutes with a processor to itself.
BUILD_SECONDS = 1100


def make_go(sources, folder):
    env = {"PATH": os.environ["PATH"], **toolchains.go(), "GOMODCACHE": f"{CACHE}/gomod",
           "GOCACHE": f"{CACHE}/gocache", "GOBIN": f"{CACHE}/gobin", "GOFLAGS": "-p=1"}
    kinds = ["go", "go-grpc"]
    if b"connectrpc.com/connect" in read(f"{sources}/go.mod"):
        kinds.append("connect-go")
    for kind in kinds:
        yield ["go", "install", GO_PLUGINS[kind]], env
    yield ["protoc", "-I", f"{SRC}/proto", *(f"--{kind}_{what}" for kind in kinds for what in (
        "out=.", "opt=module=rawstack")), *PROTOS], {"PATH": f"{CACHE}/gobin:{env['PATH']}"}
    yield ["go", "build", "-o", f"{folder}/program", "."], env


def make_java(_, __):
    toolchains.require(["mvn", "--version"], (3, 6))
    yield ["mvn", "-B", "-q", f"-Dmaven.repo.local={CACHE}/m2", f"-Drawstack.proto={SRC}/proto",
           "package"], {}


def make_rust(sources, folder):
    yield ["cargo", "build", "--locked", "-j1"], {
        **toolchains.rust(), "CARGO_HOME": f"{CACHE}/cargo", "CARGO_TARGET_DIR": f"{CACHE}/cargo-target",
        "RAWSTACK_PROTO": f"{SRC}/proto"}
    name = read(f"{sources}/Cargo.toml").split(b'"', 2)[1].decode()
    yield ["cp", f"{CACHE}/cargo-target/debug/{name}", f"{folder}/program"], {}


# How it builds, and what runs then.
LANGUAGES = {
    "go": (make_go, lambda folder: [f"{folder}/program"]),
    "java": (make_java, lambda folder: [
        "java", "-cp", f"{folder}/target/classes:{folder}/target/lib/*", "example.Frames"]),
    "rust": (make_rust, lambda folder: [f"{folder}/program"]),
}


def compiled(language, sources):
    """The command that runs the client of that folder. Built once for each state of the sources."""
    make, command = LANGUAGES[language]
    files = [os.path.join(at, name) for at, _, names in os.walk(sources) for name in names]
    digest = hashlib.sha256(language.encode())
    for path in sorted(files) + [os.path.join(SRC, "proto", name) for name in PROTOS]:
        digest.update(os.path.relpath(path, SRC).encode() + b"\0" + read(path) + b"\0")
    folder = os.path.join(CACHE, f"{language}-{digest.hexdigest()[:12]}")
    if not os.path.isdir(folder):
        if not os.environ.get("RAWSTACK_FULL"):
            skip("tests/run --full builds the client")
        partial = f"{folder}.partial-{os.getpid()}"
        os.makedirs(CACHE, exist_ok=True)
        shutil.copytree(sources, partial)
        faulthandler.dump_traceback_later(BUILD_SECONDS, exit=True)
        try:
            for step, env in make(sources, partial):
                subprocess.run(["nice", *step], cwd=partial, env={**os.environ, **env}, check=True)
            if not os.path.isdir(folder):
                os.rename(partial, folder)
        except toolchains.Unavailable as e:
            skip(e)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            faulthandler.dump_traceback_later(580, exit=True)
    return command(folder)
