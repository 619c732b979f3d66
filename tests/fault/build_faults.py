# SPDX-License-Identifier: Apache-2.0
"""The service killed while it owes tables, and its worker killed. For tests/fault/run."""
import os
import signal
import threading
import time

from fault_binaries import Binaries, Lost, build_ends, check, resolves
from service_client import BIN, Service, bins, common, grpc, read, write


def children_of(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


def ticket_kept(seed):
    """The service is killed while it owes a table to a client that took a ticket and went: it is built at
    the next start, unless builds of it began and did not end too often; then whoever asks has it built."""
    write("gated_worker", f"#!/bin/sh\n[ ! -e '{os.getcwd()}/gate' ] || : >'{os.getcwd()}/waiting'\n"
          f"while [ -e '{os.getcwd()}/gate' ]; do sleep 0.01; done\n"
          f"exec '{BIN}/rawstack-table-worker' \"$@\"\n".encode())
    os.chmod("gated_worker", 0o700)
    binaries = Binaries()
    service = Service("data", "--table-worker", os.path.abspath("gated_worker"))

    def killed_while_building(how=signal.SIGKILL):
        deadline = time.monotonic() + 300
        while not os.path.exists("waiting"):
            check(time.monotonic() < deadline, "nothing is built")
            time.sleep(0.01)
        service.stop(how)
        os.remove("waiting")

    def finish(number):
        content = binaries.make(number)
        begun = service.begin(binaries.id(number), content)
        service.binaries.Upload(iter([bins.UploadChunk(upload_id=begun.upload_id, offset=0,
                                                       data=content)]))
        done = service.binaries.Finish(bins.FinishRequest(upload_id=begun.upload_id))
        check(done.ticket == binaries.id(number) and not done.HasField("report"), f"{done}")

    for name in ("gate", "waiting"):
        if os.path.exists(name):
            os.remove(name)
    write("gate", b"")
    finish(1)
    finish(2)
    killed_while_building()
    service.start()
    for number in (1, 2):
        b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(number)))
        check(b.status == common.MODULE_STATUS_BUILDING, f"{b}")
    os.remove("gate")
    for number in (1, 2):
        build_ends(service, binaries, number)
        check(resolves(service, binaries, number), f"binary {number} had a ticket and is not there")

    # One that ends the service at each start would be a service that does not start.
    if os.path.exists("waiting"):
        os.remove("waiting")
    write("gate", b"")
    finish(3)
    with open("log", "wb") as log:
        service.stderr = log
        # Whoever ends the service as it is to be ended takes no try away.
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL,
                    signal.SIGKILL):
            killed_while_building(how)
            service.start()
    b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(3)))
    check(b.status == common.MODULE_STATUS_FAILED, f"it is built a fourth time, or forgotten: {b}")
    check(b.reason.startswith(b"the service ended in each of 3 builds of it"), f"{b}")
    given_up = f"the table of {binaries.id(3).hex()} is given up: ".encode()
    check(read("log").count(given_up) == 1, "the log does not say that it is given up")
    service.stop(signal.SIGKILL)
    with open("log", "ab") as log:
        service.stderr = log
        service.start()  # it is told once
    service.stderr = None
    b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(3)))
    check(b.status == common.MODULE_STATUS_FAILED and read("log").count(given_up) == 1, f"{b}")
    content = binaries.make(3)
    begun = service.begin(binaries.id(3), content)
    check(begun.offset == len(content), f"{begun}")
    # Of those who wait for it, 64 have a place to wait at; the others are told that it is not over.
    calls = [service.binaries.Finish.future(bins.FinishRequest(upload_id=begun.upload_id, wait=True))
             for _ in range(70)]
    deadline = time.monotonic() + 300
    while sum(c.done() for c in calls) < 6:
        check(time.monotonic() < deadline, "all wait")
        time.sleep(0.01)
    os.remove("gate")
    states = [c.result().state for c in calls]
    check(states.count(bins.BUILD_STATE_DONE) == 64, f"{states}")
    check(resolves(service, binaries, 3), "built when asked for anew")
    check(service.stop() == 0, "the service does not end")
    return "2 tables owed over a kill, 1 over 3, 70 waiting for it"


def worker_killed(seed):
    """The worker of a build is killed when it is seen; the id says so, and the next push builds."""
    binaries = Binaries()
    service = Service("data")
    check(service.push(binaries.id(1), binaries.make(1)).state == bins.BUILD_STATE_DONE, "push")
    killed = 0
    for number in range(2, 12):
        stop = threading.Event()

        def hunt():
            while not stop.is_set():
                for pid in children_of(service.process.pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

        hunter = threading.Thread(target=hunt)
        hunter.start()
        done = service.push(binaries.id(number), binaries.make(number))
        stop.set()
        hunter.join()
        if done.state == bins.BUILD_STATE_FAILED:
            killed += 1
            check(b"SIGKILL" in done.reason, f"reason: {done.reason}")
            b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(number)))
            check(b.status == common.MODULE_STATUS_FAILED and b.reason, f"status: {b}")
        check(resolves(service, binaries, 1), "the table before is gone")
        if not resolves(service, binaries, number):
            done = service.push(binaries.id(number), binaries.make(number))
        check(resolves(service, binaries, number), f"binary {number} after a second push")
    check(service.stop() == 0, "the service does not end")
    return f"{killed} of 10 workers killed"
