# SPDX-License-Identifier: Apache-2.0
"""Addresses for the sections of a relocatable file, by the rule that gsym-build/FORMAT.md gives:
other tools read every section at 0 and then answer for whichever comes first, but they take the
addresses that section headers give."""
import shutil
import struct

import elffile


def addresses(sections):
    """{index: address}: loaded sections, those with code first, in order; each at the next multiple
    of its alignment that leaves a byte free; empty ones have none."""
    loaded = [s for s in sections if s.flags & elffile.SHF_ALLOC and s.size]
    result, end = {}, 0
    for code in (elffile.SHF_EXECINSTR, 0):
        for s in loaded:
            if s.flags & elffile.SHF_EXECINSTR == code:
                result[s.index] = -(-end // max(s.align, 1)) * max(s.align, 1)
                end = result[s.index] + s.size + 1
    return result


def write(path, to):
    """Copies a relocatable file with these addresses in its section headers, and without the names
    of two kinds of sections that LLVM trips over. It reads .debug_aranges without its relocations;
    now the units say what they cover. And it looks for a unit by its offset among the units of
    all sections named .debug_info, so that it misses those behind a type unit, each of which has
    a section (a group) of its own; lines need none of these."""
    shutil.copyfile(path, to)
    elf = elffile.ElfFile(path)
    with open(to, "r+b") as f:
        for index, address in addresses(elf.sections).items():
            # sh_addr stands behind the two words of name and type and the flags.
            f.seek(elf.section_header(index) + (16 if elf.is64 else 12))
            f.write(struct.pack("<Q" if elf.is64 else "<I", address))
        for section in elf.sections:
            grouped = section.name == ".debug_info" and section.flags & elffile.SHF_GROUP
            if section.name == ".debug_aranges" or grouped:
                f.seek(elf.section_header(section.index))
                f.write(bytes(4))
    return to
