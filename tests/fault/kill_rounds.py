# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the service at a random moment of uploads, builds, lookups, pins and deletions, again and again
on one data directory, and the books of what it acknowledged. For tests/fault/run."""
import os
import random
import signal
import threading
import time

from fault_binaries import MIB, Binaries, Lost, build_ends, check, resolves
from service_client import Service, bins, common, grpc, sym


class Books:
    """What the service acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ready, self.pinned = set(), {}
        self.deleted = set()
        self.unsure = set()     # deleted or replaced, and no answer came
        self.received = {}      # number -> (content, upload_id, bytes)
        self.owed = set()       # finished, and nobody waits for the table
        self.weights = {}       # build id that is missing -> weight that was there at the start
        self.asked = []         # since then: when it was answered, build id, weight
        self.maybe = {}         # the same, sent and without an answer
        self.batches = 0
        self.written = 0.0      # everything answered before is on disk: Missing writes, then reads

    def knows_of_written(self):
        with self.lock:
            return any(at < self.written for at, _, _ in self.asked)


def uploader(service, binaries, books, rng, numbers, stop):
    while not stop.is_set():
        number = rng.choice(numbers)
        content = binaries.make(number, rng.choice([0, 0, 3 * MIB, 9 * MIB]))
        if rng.random() < 0.3:
            with books.lock:
                known = number in books.ready
                books.unsure.add(number)
                if known:
                    books.owed.discard(number)
            if known:
                service.binaries.Delete(bins.DeleteRequest(build_id=binaries.id(number)))
                with books.lock:
                    books.ready.discard(number)
                    books.pinned.pop(number, None)
                    books.deleted.add(number)
            with books.lock:
                books.unsure.discard(number)
        with books.lock:
            # Other content takes the place of what was received.
            if number in books.received and books.received[number][0] != content:
                books.received.pop(number)
        begun = service.begin(binaries.id(number), content)
        if begun.status == bins.BEGIN_STATUS_PRESENT:
            with books.lock:
                books.received.pop(number, None)
                books.owed.discard(number)
                books.ready.add(number)
                books.deleted.discard(number)
            if rng.random() < 0.3:
                wanted = rng.random() < 0.5
                with books.lock:
                    books.pinned.pop(number, None)
                service.binaries.Pin(bins.PinRequest(build_id=binaries.id(number), pinned=wanted))
                with books.lock:
                    books.pinned[number] = wanted
            continue
        if begun.status != bins.BEGIN_STATUS_NEEDED:
            continue
        with books.lock:
            books.deleted.discard(number)
        at = begun.offset
        while at < len(content):
            end = min(len(content), at + rng.randrange(1, 3 * MIB))
            parts = [bins.UploadChunk(upload_id=begun.upload_id, offset=o,
                                      data=content[o:min(o + MIB // 2, end)])
                     for o in range(at, end, MIB // 2)]
            at = service.binaries.Upload(iter(parts)).received
            with books.lock:
                books.received[number] = (content, begun.upload_id, at)
        wait = rng.random() < 0.6
        done = service.binaries.Finish(bins.FinishRequest(upload_id=begun.upload_id, wait=wait))
        with books.lock:
            books.received.pop(number, None)
            if not wait:
                check(done.ticket == binaries.id(number), f"{done}")
                books.owed.add(number)
            if done.state == bins.BUILD_STATE_DONE:
                books.ready.add(number)


def asker(service, binaries, books, rng, numbers, stop):
    while not stop.is_set():
        lost = b"\xee" * 19 + bytes([rng.randrange(8)])
        with books.lock:
            books.batches += 1
            name = b"%d-%d" % (os.getpid(), books.batches)
            books.maybe[lost] = books.maybe.get(lost, 0) + 7
        service.symbolizer.Symbolize(sym.StackBatch(
            batch_id=name, modules=[sym.Module(build_id=lost)],
            locations=sym.Locations(kind=[common.LOCATION_KIND_FILE_OFF], module=[0], address=[5],
                                    weight=[7])))
        with books.lock:
            books.maybe[lost] -= 7
            books.asked.append((time.monotonic(), lost, 7))
        resolves(service, binaries, rng.choice(numbers))
        if rng.random() < 0.05 or not books.written:
            now = time.monotonic()
            service.binaries.Missing(bins.MissingRequest(page_size=1))
            books.written = now


def audit(service, binaries, books):
    """Everything that was acknowledged is there, and nothing else is wrong. Returns how many counts of
    missing binaries had to be there."""
    for number in sorted(books.ready - books.unsure):
        check(resolves(service, binaries, number), f"binary {number} was DONE and is not there")
        b = service.binaries.Get(bins.GetRequest(build_id=binaries.id(number)))
        if number in books.pinned:
            check(b.pinned == books.pinned[number], f"binary {number}: its pin")
    for number in sorted(books.deleted - books.unsure - books.ready):
        check(not resolves(service, binaries, number), f"binary {number} was deleted and is there")
    for number in sorted(books.owed - books.unsure):
        build_ends(service, binaries, number)
        check(resolves(service, binaries, number), f"binary {number} had a ticket and is not there")
    books.owed.clear()
    ended = []
    for number, (content, upload_id, received) in books.received.items():
        build_ends(service, binaries, number)
        begun = service.begin(binaries.id(number), content)
        if begun.status == bins.BEGIN_STATUS_PRESENT:
            ended.append(number)  # its Finish had no answer, but an end
            continue
        check(begun.upload_id == upload_id and begun.offset >= received,
              f"upload of {number}: {received} of {len(content)} bytes were received, {begun.offset} "
              f"are there, of {'the same' if begun.upload_id == upload_id else 'another'} upload")
    # A delete and another Begin may follow: what was received has become a table, and no loss then.
    for number in ended:
        books.received.pop(number)
    listed = set(service.listed())
    for build_id in listed:
        check(resolves(service, binaries, int.from_bytes(build_id, "big")), "listed and not there")
    missing = {m.build_id: m.weight
               for m in service.binaries.Missing(bins.MissingRequest(page_size=1000)).binaries}
    # What is missing is counted in memory and written once a second, and before it is read: a crash may
    # lose what came since, with the ids of the batches, so that they count when they are sent again.
    for lost in {*books.weights, *(lost for _, lost, _ in books.asked)}:
        weight = books.weights.get(lost, 0)
        least = weight + sum(w for at, of, w in books.asked if of == lost and at < books.written)
        most = weight + sum(w for _, of, w in books.asked if of == lost) + books.maybe.get(lost, 0)
        check(least <= missing.get(lost, 0) <= most,
              f"missing {lost.hex()}: weight {missing.get(lost, 0)}, not {least} to {most}")
    return sum(at < books.written for at, _, _ in books.asked)


def quiet(function, *args):
    try:
        function(*args)
    except grpc.RpcError:
        pass  # the service is gone, or going
    except Lost as e:
        args[2].error = e


def kill_rounds(rounds, seed):
    """Each round goes on where the one before was killed, on the same data."""
    binaries, books = Binaries(), Books()
    books.error = None
    service = Service("data", "--store-bytes", "256M")
    acknowledged = counted = 0
    for n in range(rounds):
        rng = random.Random(f"{seed}-{n}")
        stop = threading.Event()
        threads = [threading.Thread(target=quiet, args=(uploader, service, binaries, books,
                                                        random.Random(rng.random()),
                                                        range(100 * t + 1, 100 * t + 9), stop))
                   for t in (1, 2)]
        # quiet() looks for the books in its third argument behind the function
        threads.append(threading.Thread(target=quiet, args=(
            asker, service, binaries, books, random.Random(rng.random()),
            [*range(101, 109), *range(201, 209)], stop)))
        for t in threads:
            t.start()
        time.sleep(rng.uniform(0.02, 0.6) if n % 4 else rng.uniform(2, 3))
        # In those that last, whatever holds the machine up, something is known to be on disk.
        while not n % 4 and not books.knows_of_written() and threads[-1].is_alive():
            time.sleep(0.01)
        service.process.send_signal(signal.SIGKILL)
        stop.set()
        for t in threads:
            t.join()
        service.channel.close()
        service.process.wait()
        if books.error:
            raise books.error
        books.batches += 1000000
        service.start()
        counted += audit(service, binaries, books)
        books.asked.clear()
        books.written = 0.0
        books.unsure.clear()  # what came of it is what is there now
        present = {n for t in (1, 2) for n in range(100 * t + 1, 100 * t + 9)
                   if resolves(service, binaries, n)}
        books.ready = present
        books.deleted -= present
        books.pinned = {k: v for k, v in books.pinned.items() if k in present}
        books.maybe.clear()
        books.weights = {m.build_id: m.weight for m in service.binaries.Missing(
            bins.MissingRequest(page_size=1000)).binaries if m.build_id[0] == 0xee}
        acknowledged = len(present) + len(books.weights)
    check(service.stop() == 0, "the service does not end")
    check(counted, "no count of a missing binary was known to be written")
    return f"{rounds} rounds, {acknowledged} records in the end"
