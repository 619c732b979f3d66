# SPDX-License-Identifier: Apache-2.0
"""A disk of the service that is full, that breaks, that changes what is on it, and a clock that jumps. For
tests/fault/run."""
import os
import random
import signal
import subprocess
import threading
import time

from fault_binaries import MIB, SKIPPED, Binaries, Lost, check, resolves
from service_client import BIN, Service, bins, bins_grpc, common, grpc, read, run, sym, write


def disk_full(seed):
    """On a disk of its own: it fills in the middle of an upload, of a build, of everything."""
    os.makedirs("disk", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320m", "tmpfs", "disk"],
                      capture_output=True).returncode:
        SKIPPED.append("disk_full: no file system can be mounted here")
        return "skipped"
    try:
        return disk_full_on("disk")
    finally:
        subprocess.run(["umount", "-l", "disk"], check=True)


def disk_promised(seed):
    """Uploads that trickle promise a disk away: who sends in earnest has it all the same."""
    os.makedirs("disk", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", "disk"],
                      capture_output=True).returncode:
        SKIPPED.append("disk_promised: no file system can be mounted here")
        return "skipped"
    try:
        return disk_promised_on("disk")
    finally:
        subprocess.run(["umount", "-l", "disk"], check=True)


def trickle(binaries, upload_id, stop):
    def chunks():
        at = 0
        while not stop.is_set():
            yield bins.UploadChunk(upload_id=upload_id, offset=at, data=bytes(1000))
            at += 1000
            stop.wait(1)
    try:
        binaries.Upload(chunks())
    except grpc.RpcError:
        pass  # it is given up in the end, or the service stops


def disk_promised_on(folder):
    binaries, stop, size, threads = Binaries(), threading.Event(), 256 * MIB, []
    service = Service(os.path.join(folder, "data"), "--store-bytes", "40M")
    channel = grpc.insecure_channel(service.address, options=[("grpc.use_local_subchannel_pool", 1)])
    evil = bins_grpc.BinariesStub(channel)
    while size > MIB:
        begun = evil.Begin(bins.BeginRequest(build_id=b"evil" + bytes([len(threads)]), size=size,
                                             sha256=bytes(32)))
        if begun.status == bins.BEGIN_STATUS_NEEDED:
            threads.append(threading.Thread(target=trickle, args=(evil, begun.upload_id, stop)))
            threads[-1].start()
        else:
            size //= 2
    check(len(threads) >= 5, f"{len(threads)} uploads are begun")
    try:
        content = binaries.make(1, 32 * MIB)
        deadline = time.monotonic() + 120
        while (begun := service.begin(binaries.id(1), content)
               ).status == bins.BEGIN_STATUS_OVER_QUOTA:
            check(begun.retry_ms and time.monotonic() < deadline, "the disk is promised away")
            time.sleep(begun.retry_ms / 1000)
        check(service.push(binaries.id(1), content).state == bins.BUILD_STATE_DONE, "push")
        check(resolves(service, binaries, 1), "the table is not there")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        channel.close()
    check(service.stop() == 0, "the service does not end")
    return f"{len(threads)} uploads that trickle"


def fill(folder):
    with open(os.path.join(folder, "filler"), "ab", buffering=0) as f:
        for size in (MIB, 4096):
            try:
                while f.write(bytes(size)) == size:
                    pass
            except OSError:
                pass


def disk_full_on(folder):
    binaries = Binaries()
    service = Service(os.path.join(folder, "data"), "--store-bytes", "40M")
    check(service.push(binaries.id(1), binaries.make(1)).state == bins.BUILD_STATE_DONE, "push")

    # Begin counts what is promised already against the floor.
    refused = service.begin(binaries.id(2), bytes(200 * MIB))
    check(refused.status == bins.BEGIN_STATUS_OVER_QUOTA and refused.reason, f"{refused}")
    check(refused.retry_ms == 0, "no other upload is in its way")

    # In the middle of an upload.
    content = binaries.make(3, 8 * MIB)
    begun = service.begin(binaries.id(3), content)
    half = service.binaries.Upload(iter([bins.UploadChunk(
        upload_id=begun.upload_id, offset=0, data=content[:MIB])])).received
    fill(folder)
    try:
        service.binaries.Upload(bins.UploadChunk(upload_id=begun.upload_id, offset=o,
                                                 data=content[o:o + MIB])
                                for o in range(half, len(content), MIB))
        raise Lost("an upload onto a full disk is acknowledged")
    except grpc.RpcError as e:
        check("No space" in e.details(), e.details())
    check(resolves(service, binaries, 1), "a lookup with a full disk")
    os.remove(os.path.join(folder, "filler"))
    again = service.begin(binaries.id(3), content)
    check(again.upload_id == begun.upload_id and again.offset >= half, f"{again}")
    check(service.push(binaries.id(3), content).state == bins.BUILD_STATE_DONE, "push after")

    # In a build, and in the commit.
    failures = 0
    for number in range(4, 10):
        content = binaries.make(number)
        begun = service.begin(binaries.id(number), content)
        service.binaries.Upload(iter([bins.UploadChunk(upload_id=begun.upload_id, offset=0,
                                                       data=content)]))
        fill(folder)
        try:
            done = service.binaries.Finish(bins.FinishRequest(upload_id=begun.upload_id, wait=True))
            if done.state != bins.BUILD_STATE_DONE:
                failures += 1
                check(done.reason, "failed without a reason")
        except grpc.RpcError as e:
            failures += 1
            check(e.details(), "failed without a reason")
            done = None
        check(resolves(service, binaries, 1), "a lookup with a full disk")
        kept = resolves(service, binaries, number)
        check(kept or not done or done.state != bins.BUILD_STATE_DONE, f"{number} was DONE")
        os.remove(os.path.join(folder, "filler"))
        check(resolves(service, binaries, number) or
              service.push(binaries.id(number), content).state == bins.BUILD_STATE_DONE,
              f"push of {number} after the disk was full")
    service.stop(signal.SIGKILL)
    service.start()
    for number in (1, 3, *range(4, 10)):
        check(resolves(service, binaries, number), f"binary {number} after a restart")
    check(service.stop() == 0, "the service does not end")
    return f"{failures} of 6 builds failed with a reason"


def store_fails(seed):
    """The disk breaks under the head of the store, after which LMDB does nothing more: no request is told
    that it was wrong, the service ends as failed, and the next start has all that was acknowledged."""
    binaries = Binaries()
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    os.environ.update(LD_PRELOAD=os.path.join(BIN, "libhead_fails.so"), ASAN_OPTIONS=sanitizer,
                      HEAD_FAILS=os.path.abspath("head_fails"))
    if os.path.exists("head_fails"):
        os.remove("head_fails")
    try:
        service = Service("data")
    finally:
        del os.environ["LD_PRELOAD"]
    for number in range(1, 4):
        check(service.push(binaries.id(number), binaries.make(number)).state ==
              bins.BUILD_STATE_DONE, "push")
    write("head_fails", b"")
    try:
        service.binaries.Pin(bins.PinRequest(build_id=binaries.id(1), pinned=True))
        raise Lost("a pin that could not be written is acknowledged")
    except grpc.RpcError as e:
        check(e.code() not in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND), f"{e}")
    answers = 0
    try:
        while service.process.poll() is None:
            answers += resolves(service, binaries, 1)
    except grpc.RpcError as e:
        check(e.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), f"{e}")
    check(service.process.wait(timeout=300) == 1, "it does not end as failed")
    os.remove("head_fails")
    service.channel.close()
    service.start()
    for number in range(1, 4):
        check(resolves(service, binaries, number), f"binary {number} after the disk was broken")
    check(service.push(binaries.id(4), binaries.make(4)).state == bins.BUILD_STATE_DONE, "push")
    check(service.stop() == 0, "the service does not end")
    return f"3 tables kept, {answers} answers after the write failed"


def clock_jumps(seed):
    """A day back, two days forward, back again: nothing that was received is dropped by going
    back, and times do not matter to lookups."""
    library = os.path.join(BIN, "libclock_jump.so")
    write("clock", (0).to_bytes(8, "little"))
    binaries = Binaries()
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    os.environ.update(LD_PRELOAD=library, CLOCK_JUMP=os.path.abspath("clock"),
                      ASAN_OPTIONS=sanitizer)
    try:
        service = Service("data")
    finally:
        del os.environ["LD_PRELOAD"]

    def jump(seconds):
        with open("clock", "r+b") as f:
            f.write(seconds.to_bytes(8, "little", signed=True))

    content = binaries.make(1, 4 * MIB)
    begun = service.begin(binaries.id(1), content)
    service.binaries.Upload(iter([bins.UploadChunk(upload_id=begun.upload_id, offset=0,
                                                   data=content[:MIB])]))
    for number, seconds in enumerate((-86400 * 30, -3600, 3600 * 20, 0), 2):
        jump(seconds)
        again = service.begin(binaries.id(1), content)
        check(again.upload_id == begun.upload_id and again.offset >= MIB,
              f"an upload is dropped when the clock jumps to {seconds} s")
        check(service.push(binaries.id(number), binaries.make(number)).state ==
              bins.BUILD_STATE_DONE, "push")
        lost = sym.StackBatch(modules=[sym.Module(build_id=b"\xee" * 20)],
                              locations=sym.Locations(kind=[common.LOCATION_KIND_FILE_OFF],
                                                      module=[0], address=[5]))
        service.symbolizer.Symbolize(lost)
        for known in range(2, number + 1):
            check(resolves(service, binaries, known), f"binary {known}")
    m = service.binaries.Missing(bins.MissingRequest()).binaries[0]
    check(m.weight == 4 and m.first_unix_ns <= m.last_unix_ns, f"{m}")
    check(service.stop() == 0, "the service does not end")
    service.start()
    check(service.push(binaries.id(1), content).state == bins.BUILD_STATE_DONE, "push")
    check(service.stop() == 0, "the service does not end")
    return "30 days back, 29 forward, 21 hours forward, back to now"


def table_damaged(seed):
    """Bytes of stored tables flipped on disk: never a wrong answer, and the id is asked for again."""
    rng, binaries = random.Random(seed), Binaries()
    service = Service("data")
    for number in range(1, 21):
        write("one", binaries.make(number))
        check(service.push(binaries.id(number), read("one")).state == bins.BUILD_STATE_DONE, "push")
    check(service.stop() == 0, "the service does not end")
    path = "data/store.mdb"
    stored = read(path)
    hit = set()
    with open(path, "r+b") as f:
        for number in range(1, 21):
            write("one", binaries.make(number))
            run(os.path.join(BIN, "rawstack-gsym-build"), "build", "--demangled", "-o", "one.rsym", "one")
            table = read("one.rsym")
            at = stored.find(table[:256])
            check(at >= 0, f"table {number} is not in {path} as it was built")
            if rng.random() < 0.7:
                f.seek(at + rng.randrange(len(table)))
                was = f.read(1)
                f.seek(-1, os.SEEK_CUR)
                f.write(bytes([was[0] ^ 1 << rng.randrange(8)]))
                hit.add(number)
    service.start()
    for number in range(1, 21):
        answers = resolves(service, binaries, number)
        check(answers == (number not in hit), f"table {number}: damaged and answers" if answers
              else f"table {number}: whole and does not answer")
    for number in hit:
        b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(number)))
        check(b.status == common.MODULE_STATUS_PURGED, f"{b}")
        check(service.push(binaries.id(number), binaries.make(number)).state ==
              bins.BUILD_STATE_DONE, "push")
        check(resolves(service, binaries, number), f"table {number} after a push")
    check(service.stop() == 0, "the service does not end")
    return f"{len(hit)} of 20 tables damaged"
