# SPDX-License-Identifier: Apache-2.0
"""Clients of the service that are killed, or say nothing more. For tests/fault/run."""
import os
import random
import signal
import socket
import subprocess
import time

from fault_binaries import MIB, Binaries, Lost, check, resolves
from service_client import BIN, Service, bins, hashlib, run, write


def client_gone(seed):
    """Clients that are killed in the middle: what they sent stays, the next goes on from there."""
    binaries, rng = Binaries(), random.Random(seed)
    service = Service("data")
    content = binaries.make(1, 40 * MIB)
    write("large", content)
    before = 0
    for _ in range(5):
        pusher = subprocess.Popen([os.path.join(BIN, "rawstack"), "push", "--server",
                                   service.address, "large"], stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.3))
        pusher.kill()
        pusher.wait()
        begun = service.begin(binaries.id(1), content, kind=bins.BINARY_KIND_BOTH)
        if begun.status == bins.BEGIN_STATUS_PRESENT:
            break
        check(begun.offset >= before, f"{before} bytes were there, now {begun.offset}")
        before = begun.offset
    run(os.path.join(BIN, "rawstack"), "push", "--server", service.address, "large")
    check(resolves(service, binaries, 1), "not there in the end")
    check(service.stop() == 0, "the service does not end")
    return f"{before / MIB:.0f} MiB by clients that were killed"


def stop_in_the_middle(pusher):
    """Whether the client was still sending."""
    while pusher.poll() is None:
        for name in os.listdir("data/uploads"):
            try:
                if name.endswith(".part") and os.stat(f"data/uploads/{name}").st_size >= MIB:
                    pusher.send_signal(signal.SIGSTOP)
                    return True
            except FileNotFoundError:
                pass
    return False


def stopped_pusher(service, binaries, number):
    """A client that is stopped, not ended: its system answers for it, it does not. Returns the bytes that
    its upload had when it was taken over; 0 when it was too fast to be stopped."""
    content = binaries.make(number, 64 * MIB)
    write("large", content)
    pusher = subprocess.Popen([os.path.join(BIN, "rawstack"), "push", "--server", service.address,
                               "large"], stdout=subprocess.DEVNULL)
    try:
        if not stop_in_the_middle(pusher):
            return 0
        check(resolves(service, binaries, 1), "an honest client")
        deadline = time.monotonic() + 300
        while True:
            begun = service.binaries.Begin(bins.BeginRequest(
                build_id=binaries.id(number), size=len(content), kind=bins.BINARY_KIND_BOTH,
                sha256=hashlib.sha256(content).digest()))
            if begun.status != bins.BEGIN_STATUS_IN_PROGRESS:
                break
            check(time.monotonic() < deadline, "the upload of a peer that is gone stays taken")
            time.sleep(0.1)
    finally:
        pusher.kill()
        pusher.wait()
    if begun.status == bins.BEGIN_STATUS_PRESENT:
        return 0
    check(begun.status == bins.BEGIN_STATUS_NEEDED and begun.offset >= MIB, f"{begun}")
    check(service.push(binaries.id(number), content, kind=bins.BINARY_KIND_BOTH).state ==
          bins.BUILD_STATE_DONE, "push")
    return begun.offset


def half_open(seed):
    """Peers that stop in the middle of everything and keep their connections: silent ones, ones with
    half a message, one with half an upload. The others are served, and the upload is taken over
    once the peer is known to be gone. Who is held up for 5 s, as anybody may be, is none of them."""
    binaries = Binaries()
    service = Service("data", "--keepalive", "5")
    check(service.push(binaries.id(1), binaries.make(1)).state == bins.BUILD_STATE_DONE, "push")
    host, port = service.address.split(":")
    silent = []
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    for n in range(60):
        s = socket.create_connection((host, int(port)))
        s.sendall(preface[:len(preface) * (n % 4) // 3])
        silent.append(s)
    # One that had sent everything when it was to be stopped proves nothing.
    for number in range(2, 22):
        taken_over = stopped_pusher(service, binaries, number)
        if taken_over:
            break
    else:
        raise Lost("all clients were too fast to be stopped")
    for s in silent:
        s.close()
    check(service.stop() == 0, "the service does not end")
    return f"{len(silent)} silent connections, an upload taken over at {taken_over / MIB:.0f} MiB"
