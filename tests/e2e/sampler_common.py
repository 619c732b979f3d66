# SPDX-License-Identifier: Apache-2.0
"""What the tests of rawstack-sampler share: `sampler_THEME NAME SHARES`, where SHARES is the built
tests/fixtures/sampler/shares.c. What a test needs to have happened it waits for, however long a busy
machine takes; then counts and shares are asserted, never times."""
import bisect
import collections
import glob
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SRC = os.environ["RAWSTACK_SRC"]
SAMPLER = os.path.join(os.environ["RAWSTACK_BIN"], "rawstack-sampler")
SHARES = sys.argv[2]
NOBODY = 65534
STRIPPED = ["setpriv", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]


def fixture(name):
    return os.path.join(os.path.dirname(SHARES), name)


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def need_ebpf():
    why = subprocess.run([os.path.join(SRC, "tests/ebpf-works")], capture_output=True, text=True)
    if why.returncode:
        print(why.stdout.strip())
        skip("eBPF is not permitted here")


def need_root():
    if os.geteuid():
        skip("needs user 0 to change to another user")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fresh(name):
    shutil.rmtree(name, ignore_errors=True)
    return name


# --- waiting ---------------------------------------------------------------------------------------


def wait_for(condition, what, seconds=300):
    """What it returns, once that is true. The seconds end what hangs."""
    until = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        found = condition()
        if found:
            return found
        assert began < until, what
        # To look costs CPU time that what is waited for may need.
        time.sleep(min(max(0.05, 2 * (time.monotonic() - began)), 2))


def try_until_good(attempt, times=5):
    """For what a sampler may lose, and then says that it did, when it or its helper does not get to run
    for seconds, or others on the machine start thousands of processes meanwhile: `attempt` asserts
    what must be so always, and returns whether all came that does without such losses."""
    for _ in range(times):
        if attempt():
            return
        print("again: something was lost")
    raise AssertionError(f"not once in {times} times")


class Chance(AssertionError):
    """What chance does once in ten thousand times."""


def run_test(tests):
    """The one that was asked for; what cannot be chance happens twice."""
    test = tests[sys.argv[1]]
    try:
        test()
    except Chance as e:
        print("once more, for it may be chance:", e)
        test()
    print("ok")


# --- the sampler -----------------------------------------------------------------------------------


class Sampler:
    """A run, until it is told to end."""

    def __init__(self, *args, spool="spool", sampler=SAMPLER, prefix=(), is_fresh=True, **options):
        self.spool = fresh(spool) if is_fresh else spool
        self.out, self.err = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([*prefix, sampler, "run", "--stats", "--free-floor", "1",
                                         "--spool", spool, *args], stdout=self.out, stderr=self.err,
                                        **options)
        self.pid = self.process.pid

    def stderr(self):
        with open(self.err.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def samples(self):
        return cat(self.spool) if glob.glob(self.spool + "/segment-*") else []

    def wait(self, is_met, what="what is waited for does not come"):
        """is_met() is what it returns."""
        def look():
            assert self.process.poll() is None, self.stderr()
            return is_met()
        return wait_for(look, what)

    def wait_for_samples(self, are_enough):
        try:
            return self.wait(lambda: are_enough(self.samples()), "too few samples")
        except AssertionError:
            # What there is says what did not come.
            kinds = collections.Counter((s["pid"], s["comm"], (user_frames(s) or [{"kind": None}])[0]["kind"])
                                        for s in self.samples())
            print("samples by process and first frame of user space:", kinds.most_common(20))
            print(self.stderr().strip())
            raise

    def wait_for_records(self):
        """From here on it is told of each process that starts, and what that maps."""
        self.wait(lambda: os.path.exists(self.spool + "/lock"))

    def wait_for_ticks(self):
        """From here on each tick is seen; for samplers of `shares`."""
        self.wait_for_records()
        with Load() as pid:
            self.wait_for_samples(lambda samples: any(s["pid"] == pid for s in samples))

    def end(self):
        """The accounting, and all samples."""
        self.process.terminate()
        return self.ended()

    def ended(self, want=0):
        status = self.process.wait()
        print(self.stderr().strip())
        assert status == want, status
        with open(self.out.name, encoding="utf-8") as f:
            return json.load(f), cat(self.spool)


def run_until(are_enough, *args, **options):
    """A run until there are enough samples: stats, samples."""
    s = Sampler(*args, **options)
    s.wait_for_samples(are_enough)
    return s.end()


def cat(spool):
    return [json.loads(line) for line in output(SAMPLER, "spool", "cat", spool).splitlines()]


def account(stats):
    """Every tick is in exactly one place."""
    lost = stats["losses"]
    there = (stats["stored"] + stats["idle"] + stats["filtered"] + lost["ring_full"] +
             lost["spool_error"])
    print("runs", stats["runs"], "= stored", stats["stored"], "+ idle", stats["idle"],
          "+ filtered", stats["filtered"], "+ ring_full", lost["ring_full"], "+ spool_error",
          lost["spool_error"])
    assert stats["runs"] == there and stats["runs"] > 0


def user_frames(sample):
    return [f for f in sample["frames"]
            if f["kind"] in ("file_off", "unresolved") and f.get("reason") != "kernel"]


def user_leaves(samples):
    """Of those that have a user part."""
    return [f[0] for f in map(user_frames, samples) if f]


def framed(frames, binary):
    """Up to the first frame of code without frame pointers: what comes behind is chance."""
    ours = 0
    while ours < len(frames) and frames[ours].get("build_id") == binary.id:
        ours += 1
    return frames[:ours + 1]


# --- programs --------------------------------------------------------------------------------------


def cpu_seconds(*pids):
    """Of all threads, and of children that ended; of processes that are there."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", "rb") as f:
            total += sum(map(int, f.read().rsplit(b")", 1)[1].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def exes(pid):
    """Of its threads: one that ended has none."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/task/*/exe"):
        try:
            found.add(os.readlink(path))
        except OSError:
            pass
    return found


class Load:
    """A program that is at its work, unless it ended at once: what loads it lies behind. is_ready: of a
    pid, where that is something else; None: at once."""

    def __init__(self, *args, prefix=(), path=SHARES, is_ready="works", **options):
        self.command = [*prefix, path, *args]
        self.path = os.path.realpath(os.fsdecode(path))
        self.is_ready = self.works if is_ready == "works" else is_ready
        self.options = options
        self.loaded = None

    def works(self, pid):
        """Loading takes milliseconds."""
        if self.loaded is None:
            self.loaded = cpu_seconds(pid) if self.path in exes(pid) else None
            return False
        return cpu_seconds(pid) >= self.loaded + 0.05

    def __enter__(self):
        self.process = subprocess.Popen(self.command, **self.options)
        pid = self.process.pid
        ended = lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if self.is_ready:
            wait_for(lambda: ended() or self.is_ready(pid), self.command)
        return pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def first_ended(pid):
    """Its first thread, and others are there."""
    with open(f"/proc/{pid}/stat", "rb") as f:
        return f.read().rsplit(b")", 1)[1].split()[0] == b"Z" and exes(pid)


def need_x86(pid):
    """Of a fixture that ends on other machines."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        skip("the fixture is for x86-64")


# --- what others say of a file ---------------------------------------------------------------------


class Binary:
    """What readelf and nm say of a file: its build id, and functions as file offsets."""

    def __init__(self, path):
        self.id = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-nW", path))[1]
        self.loads = [[int(x, 16) for x in m.groups()] for m in re.finditer(
            r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", output("readelf", "-lW", path))]
        self.functions = {}
        for line in output("nm", "-S", "--defined-only", path).splitlines():
            f = line.split()
            if len(f) == 4 and f[2] in "tT":
                start = self.file_off(int(f[0], 16))
                self.functions[f[3]] = range(start, start + int(f[1], 16))

    def file_off(self, vaddr):
        for off, start, length in self.loads:
            if start <= vaddr < start + length:
                return vaddr - start + off
        raise AssertionError(hex(vaddr))

    def function_at(self, off):
        return next((n for n, r in self.functions.items() if off in r), None)


def htlhash(path):
    with open(path, "rb") as f:
        data = f.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32]


def kernel_id():
    with open("/sys/kernel/notes", "rb") as f:
        notes = f.read()
    at = notes.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    return notes[at:at + 20].hex()


def kernel_function(off, symbols=[]):
    """By /proc/kallsyms, from an address relative to _text."""
    if not symbols:
        with open("/proc/kallsyms", encoding="ascii") as f:
            symbols += sorted((int(l[0], 16), l[2]) for l in map(str.split, f))
    text = next(a for a, name in symbols if name == "_text")
    return symbols[bisect.bisect_right(symbols, (text + off, "\x7f")) - 1][1]


def has_query():
    return "no PROCMAP_QUERY" not in output(SAMPLER, "doctor", "--seconds", "1")


# --- shares ----------------------------------------------------------------------------------------

Z99, Z9999 = 2.576, 3.891


def check_shares(samples, binary):
    """hot to warm is 3 to 1: within the 99.99 % interval of as many independent samples."""
    hits = [binary.function_at(s["frames"][0]["address"]) for s in samples
            if s["frames"][0].get("build_id") == binary.id]
    hot, warm = hits.count("share_hot"), hits.count("share_warm")
    share, width = hot / (hot + warm), Z9999 * math.sqrt(0.75 * 0.25 / (hot + warm))
    print(f"share_hot {hot}, share_warm {warm}: {share:.3f}, expected 0.75 +- {width:.3f}")
    assert hot + warm >= 0.9 * len(hits)
    if abs(share - 0.75) > width:
        raise Chance(share)


def check_split(what, counts):
    """Counts of 60, 30 and 10 %: printed against the 99 % interval of a binomial distribution,
    asserted at 99.99 %."""
    total = sum(counts)
    for count, share in zip(counts, (0.6, 0.3, 0.1)):
        sigma = math.sqrt(share * (1 - share) / total)
        print(f"{what}: {count / total:.4f} of {total}, expected {share} +- {Z99 * sigma:.4f}: "
              f"{'within' if abs(count / total - share) <= Z99 * sigma else 'OUTSIDE'} 99 %")
        if abs(count / total - share) > Z9999 * sigma:
            raise Chance(what, counts)


# --- groups ----------------------------------------------------------------------------------------


def cgroup_top():
    """Where a cgroup2 file system is; None."""
    with open("/proc/mounts", encoding="utf-8") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), None)


def remove_group(path):
    """The last process may have ended and not left it yet."""
    def is_removed():
        try:
            os.rmdir(path)
        except OSError:
            return False
        return True
    wait_for(is_removed, path)
