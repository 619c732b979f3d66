# SPDX-License-Identifier: Apache-2.0
"""Draws the addresses to compare at: the same ones in every run."""
import bisect
import itertools
import random
import re

import elffile
import readers

# Beyond this many bytes of .debug_info its text takes longer than all the lookups.
DWARF_RANGES_BYTES_MAX = 1 << 20


def dwarf_ranges(path, elf):
    """Half-open ranges of functions and inlined calls, as far as they are cheap to get."""
    size = sum(s.size for s in elf.sections if s.name in (".debug_info", ".zdebug_info"))
    if not 0 < size <= DWARF_RANGES_BYTES_MAX:
        return []
    # It exits with 1 after lists of locations that it does not know, or where `ld -r` left several
    # void relocations at one place; the ranges are there.
    text = readers.run(["llvm-dwarfdump-19", "--debug-info", path], good=(0, 1))
    ranges = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)", text)
    ranges += re.findall(
        r"DW_AT_low_pc\t\((0x[0-9a-f]+)\)\n\s*DW_AT_high_pc\t\((0x[0-9a-f]+)\)", text
    )
    return [(int(start, 16), int(end, 16)) for start, end in ranges]


class Pool:
    """Bytes of many ranges, every byte equally likely."""

    def __init__(self, ranges):
        self.ranges = [r for r in ranges if r[1] > r[0]]
        self.ends = list(itertools.accumulate(end - start for start, end in self.ranges))

    def pick(self, rng):
        at = rng.randrange(self.ends[-1])
        i = bisect.bisect_right(self.ends, at)
        return self.ranges[i][1] - (self.ends[i] - at)


def draw(name, path, count):
    """`count` distinct addresses in executable sections (fewer when there is less code), sorted:
    half of them anywhere in functions that a symbol names, a quarter anywhere in the sections (so
    also in code without a symbol and between functions), a quarter at the first, the last and the
    next byte of a function, symbol or DWARF range. The seed is `name`."""
    elf = elffile.ElfFile(path)
    sections = [(s.addr, s.addr + s.size) for s in elf.code_sections()]
    if not sections:
        return []
    symbols = sorted({(s.value, s.value + s.size) for s in elf.code_symbols()})
    edges = sorted(
        {a for start, end in symbols + dwarf_ranges(path, elf) for a in (start, end - 1, end)}
    )
    sections.sort()
    starts = [start for start, _ in sections]

    def is_code(a):
        i = bisect.bisect_right(starts, a) - 1
        return i >= 0 and a < sections[i][1]

    edges = [a for a in edges if is_code(a)]
    in_sections = Pool(sections)
    in_symbols = Pool([s for s in symbols if is_code(s[0]) and is_code(s[1] - 1)])
    if in_sections.ends[-1] <= count:
        return [a for start, end in in_sections.ranges for a in range(start, end)]
    rng = random.Random(name)
    found = set(rng.sample(edges, min(count // 4, len(edges))))
    symbol_count = count // 2 if in_symbols.ranges else 0
    for pool, goal in ((in_symbols, len(found) + symbol_count), (in_sections, count)):
        # A pool may hold fewer bytes than asked for.
        for _ in range(50 * count):
            if len(found) >= goal:
                break
            found.add(pool.pick(rng))
    return sorted(found)
