# SPDX-License-Identifier: Apache-2.0
"""Asks each symbolizer for many addresses in one process, and brings its answers into one shape.

An answer is a tuple of Frames, innermost first; an empty one says that the tool knows nothing. What
a tool prints for "unknown" (`??`, `?`, an empty text) is None for names and files, and 0 for
lines."""
import collections
import os
import posixpath
import re
import shutil
import subprocess

import elffile

Frame = collections.namedtuple("Frame", "name file line")

STT_TLS = 6


class ReaderError(Exception):
    pass


def run(argv, addresses=None, cwd=None, good=(0,)):
    environment = dict(os.environ, LC_ALL="C", DEBUGINFOD_URLS="")
    text = "".join(f"0x{a:x}\n" for a in addresses or ())
    done = subprocess.run(
        argv,
        input=text,
        cwd=cwd,
        env=environment,
        encoding="utf-8",
        errors="surrogateescape",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode not in good:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise ReaderError(f"{argv[0]}: exit {done.returncode}: {last}")
    return done.stdout


def known(text):
    return None if text in ("", "??", "?") else text


def frame(name, place):
    """`place` is FILE:LINE; a column must be gone. Tools differ in how they join directories, so
    that paths are compared without `.`, `..` and doubled slashes."""
    file, _, line = place.rpartition(":")
    file = known(file)
    return Frame(
        known(name), posixpath.normpath(file) if file else None, int(line) if line.isdigit() else 0
    )


def answer(frames):
    """Frames without any content at the end of a chain are how tools say that they know nothing."""
    while frames and frames[-1] == (None, None, 0):
        frames = frames[:-1]
    return tuple(frames)


def parse_llvm(text, count):
    """NAME / FILE:LINE:COLUMN for each frame, an empty line behind each address."""
    answers, lines = [], []
    for line in text.split("\n"):
        if line:
            lines.append(line)
        elif lines:
            if len(lines) % 2:
                raise ReaderError(f"an answer of {len(lines)} lines: {lines[-1]}")
            pairs = zip(lines[::2], lines[1::2])
            answers.append(answer([frame(name, place.rpartition(":")[0]) for name, place in pairs]))
            lines = []
    if len(answers) != count or lines:
        raise ReaderError(f"{len(answers)} answers to {count} addresses")
    return answers


def records(text, addresses):
    """Splits what `-a` tools print: the address itself is the line before each answer."""
    found = []
    for line in text.split("\n"):
        if (
            len(found) < len(addresses)
            and re.fullmatch(r"0x[0-9a-f]+", line)
            and int(line, 16) == addresses[len(found)]
        ):
            found.append([])
        elif line and found:
            found[-1].append(line)
    if len(found) != len(addresses) or any(len(r) % 2 for r in found):
        raise ReaderError(f"{len(found)} answers to {len(addresses)} addresses")
    return found


def parse_addr2line(text, addresses):
    """0xADDRESS, then NAME / FILE:LINE, with ` (discriminator N)` behind some lines and `?` for
    line 0."""
    answers = []
    for record in records(text, addresses):
        places = [re.sub(r" \(discriminator \d+\)$", "", place) for place in record[1::2]]
        answers.append(answer([frame(name, place) for name, place in zip(record[::2], places)]))
    return answers


def parse_eu(text, addresses):
    """As addr2line, but `FILE:LINE:COLUMN` where there is a line, and the first name may go on with
    ` inlined at FILE:LINE:COLUMN in OUTER`, which the following frames say again."""
    answers = []
    for record in records(text, addresses):
        names = [re.sub(r" inlined at .*:\d+ in .*$", "", name) for name in record[::2]]
        places = [re.sub(r":(\d+):\d+$", r":\1", place) for place in record[1::2]]
        answers.append(answer([frame(name, place) for name, place in zip(names, places)]))
    return answers


class Llvm:
    """LLVM's DWARF reader. llvm-symbolizer puts the name of a symbol over that of the outermost
    function (`f.cold` over `f`), so it reads a copy whose symbols are neither code nor data; where
    DWARF names nothing, a second run on the file itself tells the symbol."""

    name = "llvm"

    def __init__(self, path, scratch):
        self.path = path
        # For each answer, whether the outermost name is of DWARF.
        self.named_by_dwarf = []
        # For each answer, whether DWARF gave nothing at all: no name, no file, no line.
        self.silent = []
        self.copy = os.path.join(scratch, "no-symbols")
        shutil.copyfile(path, self.copy)
        elf = elffile.ElfFile(path)
        with open(self.copy, "r+b") as f:
            for symbol in elf.symbols:
                if symbol.type == elffile.STT_SECTION:
                    continue
                f.seek(symbol.info_offset)
                f.write(bytes([symbol.bind << 4 | STT_TLS]))
        # A package of split units is found by its name.
        if os.path.exists(path + ".dwp"):
            os.symlink(path + ".dwp", self.copy + ".dwp")

    def ask(self, addresses):
        dwarf, symbols = (
            parse_llvm(
                run(
                    ["llvm-symbolizer-19", "--inlines", "--no-demangle", f"--obj={path}"],
                    addresses,
                    os.path.dirname(self.path),
                ),
                len(addresses),
            )
            for path in (self.copy, self.path)
        )
        self.named_by_dwarf = [bool(d and d[-1].name) for d in dwarf]
        self.silent = [not d for d in dwarf]
        return [self.join(d, s) for d, s in zip(dwarf, symbols)]

    @staticmethod
    def join(dwarf, symbols):
        if not symbols or (dwarf and dwarf[-1].name):
            return dwarf
        outer = dwarf[-1] if dwarf else Frame(None, None, 0)
        return dwarf[:-1] + (outer._replace(name=symbols[-1].name),)


class Addr2line:
    name = "addr2line"

    def __init__(self, path):
        self.path = path

    def ask(self, addresses):
        text = run(
            ["addr2line", "-a", "-f", "-i", "-e", self.path], addresses, os.path.dirname(self.path)
        )
        return parse_addr2line(text, addresses)


class EuAddr2line(Addr2line):
    name = "eu-addr2line"

    def ask(self, addresses):
        # It exits with 1 when it knows nothing of one of the addresses.
        text = run(
            ["eu-addr2line", "-a", "-f", "-i", "-e", self.path],
            addresses,
            os.path.dirname(self.path),
            good=(0, 1),
        )
        return parse_eu(text, addresses)


class Rawstack:
    name = "rawstack"

    def __init__(self, program, table):
        self.program, self.table = program, table

    def ask(self, addresses):
        text = run(
            [self.program, "lookup", "--output-style=llvm", "--no-demangle", self.table], addresses
        )
        return parse_llvm(text, len(addresses))
