# SPDX-License-Identifier: Apache-2.0
"""The little that the parity tools need of an ELF file: sections, symbols. Little-endian, 32 and 64
bit."""
import collections
import mmap
import struct

SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
SHF_ALLOC, SHF_EXECINSTR, SHF_GROUP = 2, 4, 0x200
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_IFUNC = 0, 1, 2, 3, 4, 10
ET_REL = 1

Section = collections.namedtuple("Section", "index name type flags addr offset size link align entsize")
Symbol = collections.namedtuple("Symbol", "name type bind section value size info_offset")


class ElfFile:
    """Reads a file when made; `sections` and `symbols` then need no file."""

    def __init__(self, path):
        with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] != b"\x7fELF" or data[5] != 1:
                raise ValueError(f"{path}: not a little-endian ELF file")
            self.is64 = data[4] == 2
            self.type, self.machine = struct.unpack_from("<HH", data, 16)
            self.sections = self._read_sections(data)
            self.symbols = list(self._read_symbols(data))

    def _read_sections(self, data):
        if self.is64:
            (shoff,) = struct.unpack_from("<Q", data, 40)
            shentsize, count, names = struct.unpack_from("<HHH", data, 58)
            form = "<IIQQQQIIQQ"
        else:
            (shoff,) = struct.unpack_from("<I", data, 32)
            shentsize, count, names = struct.unpack_from("<HHH", data, 46)
            form = "<IIIIIIIIII"
        self.shoff, self.shentsize = shoff, shentsize
        raw = [struct.unpack_from(form, data, shoff + i * shentsize) for i in range(count)]
        if not raw:
            return []
        at = raw[names][4]
        return [
            Section(i, _text(data, at + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[8], r[9])
            for i, r in enumerate(raw)
        ]

    def _read_symbols(self, data):
        for table in self.sections:
            if table.type not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, table.entsize):
                if self.is64:
                    name, info, _, shndx, value, size = struct.unpack_from("<IBBHQQ", data, at)
                    info_at = at + 4
                else:
                    name, value, size, info, _, shndx = struct.unpack_from("<IIIBBH", data, at)
                    info_at = at + 12
                # In a relocatable file values count from the section's start.
                if self.type == ET_REL and shndx < len(self.sections):
                    value += self.sections[shndx].addr
                yield Symbol(
                    _text(data, strings + name), info & 15, info >> 4, shndx, value, size, info_at
                )

    def section_header(self, index):
        """Where it is in the file."""
        return self.shoff + index * self.shentsize

    def code_sections(self):
        return [
            s for s in self.sections if s.flags & SHF_EXECINSTR and s.flags & SHF_ALLOC and s.size
        ]

    def code_symbols(self):
        """Symbols that may name code: functions, and untyped ones in code sections."""
        code = {s.index for s in self.code_sections()}
        return [
            s
            for s in self.symbols
            if s.section in code and s.name and s.type in (STT_NOTYPE, STT_FUNC, STT_IFUNC)
        ]

    def has_section(self, name):
        return any(s.name == name for s in self.sections)


def _text(data, at):
    end = data.find(b"\0", at)
    return data[at:end].decode("utf-8", "surrogateescape")
