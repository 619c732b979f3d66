# SPDX-License-Identifier: Apache-2.0
"""Faults between a CPU and the sink, for tests/fault/run: capturer, shipper and service killed at
random moments, a disk that is full or becomes read-only. The capturer is spool_feeder, whose samples are
numbers; the sink is JSON lines, so that every number can be counted there."""
import collections
import errno
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from service_client import BIN, Service

BUILD_ID = "ab" * 20


class ShippingLost(AssertionError):
    pass


def check(condition, text):
    if not condition:
        raise ShippingLost(text)


class Feeder:
    """Runs of spool_feeder on one spool; each takes the numbers on where the one before ended."""

    def __init__(self, spool, samples, mib):
        self.spool, self.samples, self.mib = spool, samples, mib
        self.first, self.runs, self.process = 0, [], None
        self.progress = os.path.abspath("progress")

    def numbers(self):
        """Of the next sample, and how many syncs have ended; before it began, of none."""
        try:
            with open(self.progress, "rb") as f:
                return struct.unpack("<QQ", f.read(16))
        except FileNotFoundError:
            return self.first, 0

    def next_number(self):
        return self.numbers()[0]

    def start(self):
        if os.path.exists(self.progress):
            os.remove(self.progress)
        with open("feeder.err", "wb") as said:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "spool_feeder"), self.spool, self.progress, str(self.first),
                 str(self.samples), str(self.mib), BUILD_ID], stdout=subprocess.PIPE, stderr=said,
                text=True)

    def wait_for(self, more):
        """Until it has added so many more: a capturer that is held up never does."""
        want = self.next_number() + more
        while self.next_number() < want:
            self.runs_on()

    def runs_on(self):
        if self.process.poll() is not None:
            with open("feeder.err", encoding="utf-8", errors="replace") as f:
                raise ShippingLost(f"the feeder ended with {self.process.returncode}: {f.read()}")
        time.sleep(0.01)

    def durable(self):
        """What has outlasted a crash of the disk when this returns: what was in the spool, and was
        synced since, however long the disk takes for it. Syncs go one behind the other; the one that
        runs may have begun before, and each of 8 segments that ended (CLOSING_MAX) has its own."""
        want = self.next_number() - self.first
        while in_spool(self)["samples"] < want:
            self.runs_on()
        syncs = self.numbers()[1] + 10
        while self.numbers()[1] < syncs:
            self.runs_on()
        return want

    def end(self, how):
        self.process.send_signal(how)
        out, _ = self.process.communicate()
        end = self.next_number()
        # Numbers in a flush that was cut off may be there too.
        self.runs.append((self.first, end, json.loads(out) if out else None))
        self.first = end + self.samples
        self.process = None


class Shipper:
    def __init__(self, spool, out):
        self.command = [os.path.join(BIN, "rawstack-ship"), "--spool", spool, "--routes", "routes",
                        "--out", out, "--format", "json", "--batch-age", "0", "--batch-samples",
                        "400"]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)

    def once(self):
        for _ in range(5):
            if subprocess.run([*self.command, "--once"], stderr=subprocess.DEVNULL).returncode == 0:
                return
        raise ShippingLost("the shipper does not deliver what is left")


def write_route(service):
    with open("routes.new", "w", encoding="ascii") as f:
        f.write(f"* {service.address}\n")
    os.rename("routes.new", "routes")


def at_sink(out):
    """How often each number is at the sink."""
    seen = collections.Counter()
    for name in os.listdir(out):
        if not name.endswith(".jsonl"):
            continue
        with open(os.path.join(out, name), encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                check(len(row["frames"]) == 1 and row["labels"]["pid"] == 42, f"{name}: {line}")
                seen[int(row["frames"][0]["address"], 16)] += row["samples"]
    return seen


def audit(feeder, out):
    """Every number once; those of a run without a gap up to where it was killed; all of a run that
    ended in order, but for what it counted."""
    seen = at_sink(out)
    twice = [n for n, count in seen.items() if count != 1]
    check(not twice, f"{len(twice)} samples more than once, such as {sorted(twice)[:3]}")
    tails = []
    for first, end, account in feeder.runs:
        here = [n for n in range(first, end + feeder.samples) if n in seen]
        if account is None:
            check(not here or len(here) == here[-1] - first + 1,
                  f"a gap in the numbers from {first} to {end}")
            tails.append(max(0, end - first - len(here)))
        else:
            counted = account["spool_error"] + account["spool_dropped"]
            check(len(here) == account["added"] - counted,
                  f"{len(here)} at the sink of {account}")
    return sum(seen.values()), tails


def ship_kill_rounds(rounds, seed):
    """Each round goes on where the one before was killed, on the same spool and sink."""
    rng = random.Random(f"ship-{seed}")
    for name in ("spool", "out"):
        shutil.rmtree(name, ignore_errors=True)
    service = Service("data")
    write_route(service)
    feeder, shipper = Feeder("spool", 7, 64), Shipper("spool", "out")
    killed = collections.Counter()
    feeder.start()
    shipper.start()
    for _ in range(rounds):
        if not feeder.process:
            feeder.start()
        if shipper.process.poll() is not None:
            shipper.start()
        time.sleep(rng.uniform(0.02, 0.5))
        victims = rng.sample(["capturer", "shipper", "service"], rng.choice([1, 1, 2, 3]))
        killed.update(victims)
        if "capturer" in victims:
            feeder.end(signal.SIGKILL)
        if "shipper" in victims:
            shipper.process.kill()
            shipper.process.wait()
        if "service" in victims:
            service.stop(signal.SIGKILL)
            service.start()
            write_route(service)
    if not feeder.process:
        feeder.start()
    feeder.wait_for(100)
    feeder.end(signal.SIGTERM)
    shipper.process.terminate()
    shipper.process.wait()
    shipper.once()
    delivered, tails = audit(feeder, "out")
    check(service.stop() == 0, "the service does not end")
    return (f"{rounds} rounds, killed {dict(sorted(killed.items()))}, {delivered} samples at the "
            f"sink once, at most {max(tails, default=0)} lost with a capturer")


def ship_clock(seed):
    """Capturer and shipper start, are killed and start again while the clock is 400 days ahead, and
    as far behind, and right: nothing is lost, deleted before its time, or delivered twice."""
    del seed
    for name in ("spool", "out"):
        shutil.rmtree(name, ignore_errors=True)
    with open("clock", "wb") as f:
        f.write(bytes(8))

    def jump(days):
        with open("clock", "r+b") as f:
            f.write((days * 86400).to_bytes(8, "little", signed=True))

    service = Service("data")
    write_route(service)
    feeder, shipper = Feeder("spool", 7, 64), Shipper("spool", "out")
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    os.environ.update(LD_PRELOAD=os.path.join(BIN, "libclock_jump.so"),
                      CLOCK_JUMP=os.path.abspath("clock"),
                      ASAN_OPTIONS=sanitizer + ":verify_asan_link_order=0")
    before = 0
    try:
        for days in (0, 400, 400, -400, 0, 400, 0):
            jump(days)
            feeder.start()
            feeder.wait_for(500)
            shipper.start()
            feeder.wait_for(500)
            until = time.monotonic() + 300
            while sum(at_sink("out").values() if os.path.isdir("out") else [0]) <= before:
                check(time.monotonic() < until, f"nothing comes at {days} days")
                time.sleep(0.05)
            # And it jumps under both.
            jump(-days)
            feeder.wait_for(200)
            jump(days)
            feeder.end(signal.SIGKILL if days > 0 else signal.SIGTERM)
            shipper.process.kill()
            shipper.process.wait()
            shipper.once()
            now = sum(at_sink("out").values())
            check(now > before, f"{before} samples at the sink, and then {now}")
            before = now
    finally:
        for name in ("LD_PRELOAD", "CLOCK_JUMP"):
            del os.environ[name]
        os.environ["ASAN_OPTIONS"] = sanitizer
    delivered, tails = audit(feeder, "out")
    check(delivered == before, f"{before} samples at the sink, and then {delivered}")
    check(service.stop() == 0, "the service does not end")
    return (f"{len(feeder.runs)} starts, {delivered} samples at the sink once, at most "
            f"{max(tails, default=0)} lost with a capturer")


def in_spool(feeder):
    """What `spool stats` says, of samples and of bytes it could not read."""
    stats = subprocess.run(
        [os.path.join(BIN, "rawstack-sampler"), "spool", "stats", "--json", feeder.spool],
        capture_output=True, text=True)
    check(stats.returncode == 0, stats.stderr)
    return json.loads(stats.stdout)


def account_of(feeder, run):
    """Of a run that ended in order: what it added, and what of that it counted as lost."""
    account = feeder.runs[run][2]
    return account["added"], account["spool_error"] + account["spool_dropped"]


def spool_disk(seed):
    """A disk of its own is full for a while: the capturer goes on and counts."""
    del seed
    os.makedirs("disk", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "disk"],
                      capture_output=True).returncode:
        print("left out spool_disk: no file system can be mounted here")
        return "left out"
    try:
        return spool_disk_full("disk")
    finally:
        subprocess.run(["umount", "-l", "disk"], check=True)


def spool_disk_full(folder):
    feeder = Feeder(os.path.join(folder, "spool"), 50, 4)
    filler = os.path.join(folder, "filler")
    feeder.start()
    feeder.wait_for(500)
    with open(filler, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass
    # Past the room its segment has.
    feeder.wait_for(30000)
    os.remove(filler)
    feeder.wait_for(5000)
    feeder.end(signal.SIGTERM)
    (added, lost), stats = account_of(feeder, 0), in_spool(feeder)
    check(stats["samples"] + lost == added and not stats["damaged_bytes"],
          f"{feeder.runs[0][2]}, {stats['samples']} in the spool")
    return f"{added} samples: {stats['samples']} in the spool, {lost} counted as lost"


def spool_read_only(seed):
    """A file system that the kernel makes read-only under the capturer, as after an error of the
    disk: it goes on and counts; the next one takes over what is there."""
    del seed
    os.makedirs("image", exist_ok=True)
    # Files of their own: see below.
    with tempfile.NamedTemporaryFile(dir=".") as broken, tempfile.NamedTemporaryFile(dir=".") as repaired:
        broken.truncate(32 << 20)
        mkfs = ["/sbin/mkfs.ext4", "-q", "-F", broken.name]
        if subprocess.run(mkfs, capture_output=True).returncode or not mount_image(broken.name):
            print("left out spool_read_only: no image can be mounted here")
            return "left out"
        try:
            return spool_read_only_on("image", broken.name, repaired.name)
        finally:
            subprocess.run(["umount", "-l", "image"], check=True)


def mount_image(path):
    return subprocess.run(["mount", "-o", "loop", path, "image"], capture_output=True).returncode == 0


def spool_read_only_on(folder, broken, copy):
    feeder = Feeder(os.path.join(folder, "spool"), 50, 4)
    feeder.start()
    feeder.wait_for(2000)
    durable = feeder.durable()
    # A remount alone is refused while a file is open for writing; this is what ext4 does on errors.
    subprocess.run(["mount", "-o", "remount,abort", folder], check=True)
    try:
        with open(os.path.join(folder, "probe"), "wb"):
            pass
        raise ShippingLost("the file system is not read-only: the test proves nothing")
    except OSError as e:
        check(e.errno == errno.EROFS, str(e))
    feeder.wait_for(5000)
    feeder.end(signal.SIGTERM)
    (added, lost), stats = account_of(feeder, 0), in_spool(feeder)
    check(stats["samples"] + lost == added, f"{feeder.runs[0][2]}, {stats['samples']} in the spool")
    check(lost > 0, "nothing was lost, though nothing can have been written")
    # Another one cannot start there, and says so.
    feeder.start()
    check(feeder.process.wait() != 0, "a capturer starts on a read-only file system")
    feeder.process = None
    subprocess.run(["umount", folder], check=True)
    # A mount namespace that somebody made meanwhile, as tests do beside this one, has the file system
    # still, read-only as it is; whoever mounts the image would get that one. Hence a copy.
    shutil.copyfile(broken, copy)
    repaired = subprocess.run(["/sbin/e2fsck", "-fp", copy], capture_output=True, text=True)
    check(repaired.returncode in (0, 1) and mount_image(copy), repaired.stdout)
    kept = in_spool(feeder)["samples"]
    check(durable <= kept <= stats["samples"],
          f"{durable} were synced, {kept} are there of {stats['samples']}")
    feeder.start()
    feeder.wait_for(1000)
    feeder.end(signal.SIGTERM)
    (again, lost_again), stats = account_of(feeder, 1), in_spool(feeder)
    check(stats["samples"] == kept + again and not lost_again,
          f"{kept} and {again} samples, {stats['samples']} in the spool")
    return (f"{added} samples, {durable} when synced: {kept} there after a repair, {lost} counted; "
            f"{again} more after that")
