# SPDX-License-Identifier: Apache-2.0
"""Faults between a CPU and the sink, for tests/fault/run: capturer, shipper and service killed at
random moments, a disk that is full or read-only. The capturer is spool_feeder, whose samples are
numbers; the sink is JSON lines, so that every number can be counted there."""
import collections
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

from service_client import BIN, Service, common

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

    def next_number(self):
        with open(self.progress, "rb") as f:
            return struct.unpack("<Q", f.read(8))[0]

    def start(self):
        if os.path.exists(self.progress):
            os.remove(self.progress)
        self.process = subprocess.Popen(
            [os.path.join(BIN, "spool_feeder"), self.spool, self.progress, str(self.first),
             str(self.samples), str(self.mib), BUILD_ID], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)

    def wait_for(self, more):
        """Until it has added so many more: a capturer that is held up never does."""
        def now():
            try:
                return self.next_number()
            except (OSError, struct.error):
                return self.first
        want = now() + more
        while now() < want:
            check(self.process.poll() is None, "the feeder ended")
            time.sleep(0.01)

    def end(self, how):
        self.process.send_signal(how)
        out, _ = self.process.communicate()
        # It may not have come as far as its first sample.
        end = self.next_number() if os.path.exists(self.progress) and os.path.getsize(
            self.progress) == 8 else self.first
        end = max(end, self.first)
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


def spool_disk(seed):
    """A disk of its own is full, then read-only: the capturer goes on and counts."""
    del seed
    os.makedirs("disk", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "disk"],
                      capture_output=True).returncode:
        print("left out spool_disk: no file system can be mounted here")
        return "left out"
    try:
        return spool_disk_on("disk")
    finally:
        subprocess.run(["umount", "-l", "disk"], check=True)


def spool_disk_on(folder):
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
    subprocess.run(["mount", "-o", "remount,ro", folder], check=False, capture_output=True)
    feeder.wait_for(5000)
    subprocess.run(["mount", "-o", "remount,rw", folder], check=False, capture_output=True)
    feeder.wait_for(5000)
    feeder.end(signal.SIGTERM)
    account = feeder.runs[0][2]
    stats = json.loads(subprocess.run(
        [os.path.join(BIN, "rawstack-sampler"), "spool", "stats", "--json", feeder.spool],
        check=True, capture_output=True, text=True).stdout)
    there = stats["samples"] + account["spool_error"] + account["spool_dropped"]
    check(there == account["added"] and not stats["damaged_bytes"],
          f"{account}, {stats['samples']} in the spool")
    return f"{account['added']} samples: {stats['samples']} in the spool, the others counted: {account}"
