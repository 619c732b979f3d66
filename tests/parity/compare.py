# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of several readers, and decides each difference between LLVM and ours."""
import bisect
import collections
import dataclasses
import functools
import itertools
import math
import posixpath
import re
import subprocess

import elffile
import readers

# Why an answer of ours that is not LLVM's stands or falls. Those of IN_FAVOUR stand. BEYOND is not
# held against how much is equal: LLVM's DWARF reader says nothing at all there, neither name nor
# file nor line; a symbol holds the address; and our line is that of the rows or of another reader.
BEYOND = "beyond LLVM"
IN_FAVOUR = (
    "peer agrees",
    BEYOND,
    "DWARF rows",
    "DWARF functions",
    "alternate file",
    "symbol table",
)
AGAINST = "against us"
UNEXPLAINED = "unexplained"
CLASSES = IN_FAVOUR + (AGAINST, UNEXPLAINED)

QUOTES_MAX = 5

Difference = collections.namedtuple("Difference", "address llvm ours kind evidence")


def places(answer):
    """The chain without names. A name alone has no place: tools differ in what file they print
    then."""
    return (
        tuple((f.file, f.line) if f.line or f.name is None else (None, 0) for f in answer)
        if any(f.line for f in answer)
        else ()
    )


def names(answer):
    return tuple((f.name, *p) for f, p in zip(answer, places(answer) or ((None, 0),) * len(answer)))


def has_alternate(path):
    return any(s.name == ".gnu_debugaltlink" for s in elffile.ElfFile(path).sections)


def plain_name(mangled):
    """Of a C++ name the part that DW_AT_name has, or None."""
    done = subprocess.run(["c++filt", "-p", mangled], capture_output=True, text=True)
    text = done.stdout.strip()
    return None if done.returncode or text == mangled else without_arguments(text).split("::")[-1]


def without_arguments(text):
    """Without template arguments."""
    while (shorter := re.sub(r"(?<!operator)<[^<>]*>", "", text)) != text:
        text = shorter
    return text.strip()


@functools.cache
def is_plain_name(name, mangled):
    """Whether `name` is how a DIE calls the function whose linkage name is `mangled`."""
    return plain_name(mangled) == without_arguments(name)


def without_unknown(llvm, ours, named_by_dwarf):
    """Ours with LLVM's names where it does not have all of DWARF's: none, the plain one of a
    function whose linkage name it does not reach, or outermost that of a symbol."""
    if places(llvm) != places(ours):
        return None
    last = len(ours) - 1

    def known_to_llvm(i, theirs, mine):
        if not theirs.name or (i == last and not named_by_dwarf):
            return theirs.name
        if mine.name and theirs.name != mine.name and is_plain_name(theirs.name, mine.name):
            return theirs.name
        return mine.name

    return tuple(
        o._replace(name=known_to_llvm(i, f, o)) for i, (f, o) in enumerate(zip(llvm, ours))
    )


def path_alike(one, two):
    """Where the directory of a unit is relative, binutils and elfutils put it before a path
    twice."""
    if one == two or not one or not two:
        return one == two
    return ("/" + one).endswith("/" + two) or ("/" + two).endswith("/" + one)


def alike(one, two, with_names):
    """As equality of chains, for a peer."""
    if with_names and [f.name for f in one] != [f.name for f in two]:
        return False
    one, two = places(one), places(two)
    return len(one) == len(two) and all(
        a[1] == b[1] and path_alike(a[0], b[0]) for a, b in zip(one, two)
    )


class LineRows:
    """The rows of the line tables that cover given addresses, as llvm-dwarfdump prints them. One
    pass over all tables, for the addresses that nothing else decides."""

    def __init__(self, path, addresses):
        self.rows = collections.defaultdict(list)
        self.addresses = sorted(addresses)
        process = subprocess.Popen(
            ["llvm-dwarfdump-19", "--debug-line", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="surrogateescape",
        )
        with process.stdout as lines:
            self._read(lines)
        process.wait()

    def _read(self, lines):
        directories, files, number, last = {}, {}, None, None
        for line in lines:
            if line.startswith("0x"):
                fields = line.split()
                if len(fields) < 6:
                    continue
                address = int(fields[0], 16)
                # Several rows at one address: the last counts, so a row is judged by the next one.
                if last and address > last[0]:
                    self._cover(last, address, directories, files)
                last = (
                    None
                    if "end_sequence" in fields
                    else (address, int(fields[1]), int(fields[3]), line)
                )
            elif line.startswith("debug_line["):
                directories, files, last = {}, {}, None
            elif match := re.match(r'include_directories\[ *(\d+)\] = "(.*)"', line):
                directories[int(match[1])] = match[2]
            elif match := re.match(r"file_names\[ *(\d+)\]:", line):
                number = int(match[1])
            elif match := re.match(r' +name: "(.*)"', line):
                files[number] = [match[1], 0]
            elif match := re.match(r" +dir_index: (\d+)", line):
                files[number][1] = int(match[1])

    def _cover(self, row, end, directories, files):
        first = bisect.bisect_left(self.addresses, row[0])
        for address in self.addresses[first : bisect.bisect_left(self.addresses, end)]:
            name, directory = files.get(row[2], ["?", 0])
            path = posixpath.normpath(posixpath.join(directories.get(directory, ""), name))
            self.rows[address].append((path, row[1], row[3].strip()))

    def match(self, address, frame):
        """Whether a row says what `frame` says. The directory of a unit is not in every line table,
        so that a relative path there is compared as the end of the frame's."""
        for path, line, _ in self.rows[address]:
            if (
                frame.file
                and line == frame.line
                and ("/" + frame.file).endswith("/" + path.lstrip("./"))
            ):
                return True
        return False

    def quote(self, address):
        return [f"row: {text}  [{path}]" for path, _, text in self.rows[address]]


class Functions:
    """The functions that cover given addresses, as llvm-dwarfdump prints their DIEs: those with one
    range. Its own lookup, and llvm-symbolizer's, lose a function behind the end of an inlined call
    that is not below it, as gcc writes them in DWARF 2."""

    SIZE_MAX = 8 << 20  # beyond this much .debug_info its text takes too long

    def __init__(self, path, addresses):
        self.functions = collections.defaultdict(list)
        self.addresses = sorted(addresses)
        size = sum(s.size for s in elffile.ElfFile(path).sections if s.name == ".debug_info")
        text = readers.run(["llvm-dwarfdump-19", "--debug-info", path], good=(0, 1))
        self._read(text if size <= self.SIZE_MAX else "")

    def _read(self, text):
        functions = {
            match[1]: dict(re.findall(r"DW_AT_(\w+)\t\((.*)\)$", match[2], re.M))
            for match in re.finditer(
                r"^(0x[0-9a-f]+): +DW_TAG_subprogram\n((?: +DW_AT_.*\n| +\[.*\n)*)", text, re.M
            )
        }
        for offset, own in functions.items():
            if "low_pc" not in own or "high_pc" not in own:
                continue
            values = self._with_origins(functions, own)
            name = values.get("linkage_name", values.get("MIPS_linkage_name", values.get("name")))
            if not name:
                continue
            name, file = name.strip('"'), values.get("decl_file", "").strip('"')
            line = values.get("decl_line", "")
            declared = (posixpath.normpath(file), int(line)) if file and line.isdigit() else None
            start, end = int(own["low_pc"], 16), int(own["high_pc"], 16)
            where = f"{offset} [0x{start:x}, 0x{end:x})"
            if declared:
                where += f" declared {declared[0]}:{declared[1]}"
            first = bisect.bisect_left(self.addresses, start)
            for address in self.addresses[first : bisect.bisect_left(self.addresses, end)]:
                self.functions[address].append((name, declared, where))

    @staticmethod
    def _with_origins(functions, values):
        """The attributes of a DIE, with those that it has from its origin and declaration."""
        for _ in range(4):
            link = values.get("abstract_origin") or values.get("specification") or ""
            origin = functions.get(link.split(" ")[0])
            if not origin:
                break
            values = {
                k: v for k, v in values.items() if k not in ("abstract_origin", "specification")
            }
            values = {**origin, **values}
        return values

    def match(self, address, name):
        return any(name == found for found, _, _ in self.functions[address])

    def behind(self, address, frame):
        """How many lines a frame is behind the declaration of a function of its name, in that file;
        infinity when it is not."""
        return min(
            (
                frame.line - declared[1]
                for name, declared, _ in self.functions[address]
                if name == frame.name
                and declared
                and declared[1] <= frame.line
                and path_alike(declared[0], frame.file)
            ),
            default=math.inf,
        )

    def quote(self, address):
        return [f"function: {name} {where}" for name, _, where in self.functions[address]]


class Symbols:
    """What the symbol table says about a name at an address."""

    def __init__(self, elf):
        self.sections = elf.code_sections()
        self.by_name = collections.defaultdict(list)
        for symbol in elf.code_symbols():
            self.by_name[symbol.name].append(symbol)
        self.sorted = sorted(elf.code_symbols(), key=lambda symbol: symbol.value)
        self.starts = [symbol.value for symbol in self.sorted]
        # The highest end of a symbol and of all before it.
        self.ends = list(itertools.accumulate((s.value + s.size for s in self.sorted), max))

    def section_of(self, address):
        return next((s for s in self.sections if s.addr <= address < s.addr + s.size), None)

    def holding(self, address):
        """The name of the last symbol whose size holds the address, or None."""
        i = bisect.bisect_right(self.starts, address)
        while i and self.ends[i - 1] > address:
            i -= 1
            if address < self.sorted[i].value + self.sorted[i].size:
                return self.sorted[i].name
        return None

    def covers(self, name, address):
        """(strength, start) of the best symbol of that name at the address, or None. Strength 2:
        the address lies within its size; 1: it has no size and is the last before the address in
        its section. A PLT stub has a name, but no symbol."""
        if name and name.endswith("@plt"):
            section = self.section_of(address)
            return (2, address) if section and section.name.startswith((".plt", ".iplt")) else None
        best = None
        for s in self.by_name.get(name, ()):
            section = self.section_of(address)
            if s.value <= address < s.value + s.size:
                best = max(best or (2, s.value), (2, s.value))
            elif not s.size and section and section.addr <= s.value <= address:
                i = bisect.bisect_right(self.starts, address)
                if self.starts[i - 1] == s.value:
                    best = max(best or (1, s.value), (1, s.value))
        return best


class Judge:
    """Decides the differences of one input."""

    def __init__(self, path, reference, addresses, answers, named_by_dwarf, silent):
        self.named_by_dwarf, self.silent = named_by_dwarf, silent
        self.path, self.reference, self.addresses, self.answers = (
            path,
            reference,
            addresses,
            answers,
        )
        self.symbols = Symbols(elffile.ElfFile(path))
        self.alternate = has_alternate(reference)
        self.peers = [p for p in ("addr2line", "eu-addr2line") if self.competent(p)]
        self.rows = self.functions = None

    def differences(self):
        llvm, ours = self.answers["llvm"], self.answers["rawstack"]
        different = [i for i in range(len(self.addresses)) if names(llvm[i]) != names(ours[i])]
        found, undecided = {}, []
        for i in different:
            kind, evidence = (
                self.by_peers(i) or self.by_symbols(i) or self.by_alternate(i) or (None, None)
            )
            if kind:
                found[i] = kind, evidence
            else:
                undecided.append(i)
        if undecided:
            self.rows = LineRows(self.reference, [self.addresses[i] for i in undecided])
            self.functions = Functions(self.reference, [self.addresses[i] for i in undecided])
        for i in undecided:
            found[i] = (
                self.by_functions(i)
                or self.by_rows(i)
                or (UNEXPLAINED, self.rows.quote(self.addresses[i]))
            )
        quoted = 0
        result = []
        for i in different:
            kind, evidence = self.beyond(i, *found[i])
            if kind in (UNEXPLAINED, AGAINST) and quoted < QUOTES_MAX:
                quoted += 1
                evidence = evidence + self.lookup(self.addresses[i])
            result.append(Difference(self.addresses[i], llvm[i], ours[i], kind, evidence))
        return result

    def beyond(self, i, kind, evidence):
        """An answer with a line that stands goes to BEYOND where LLVM's DWARF reader has none and a
        symbol holds the address."""
        symbol = self.symbols.holding(self.addresses[i])
        if (
            self.silent[i]
            and symbol
            and kind in ("peer agrees", "DWARF rows")
            and places(self.answers["rawstack"][i])
        ):
            return BEYOND, [f"symbol: {symbol}", *evidence]
        return kind, evidence

    def lookup(self, address):
        """What LLVM's dumper prints of the DIEs there, as a quote."""
        argv = ["llvm-dwarfdump-19", f"--lookup=0x{address:x}", self.reference]
        wanted = r"^0x|DW_AT_(name|linkage_name|low_pc|high_pc|ranges|abstract_origin|call_line)"
        wanted += r"|^\s+\[0x|Line info"
        text = readers.run(argv, good=(0, 1))
        return [line.rstrip() for line in text.splitlines() if re.search(wanted, line)][:24]

    def competent(self, peer):
        """Whether a peer reads this file at all: most chains with inlined calls are LLVM's. Else
        that it agrees with us only says that neither of us reads it."""
        pairs = [(x, y) for x, y in zip(self.answers["llvm"], self.answers[peer]) if len(x) > 1]
        return sum(alike(x, y, False) for x, y in pairs) * 2 > len(pairs)

    def by_peers(self, i):
        """A peer says the same as we, and that is not less than LLVM says. Where only names differ,
        it must say the same names."""
        llvm, ours = self.answers["llvm"][i], self.answers["rawstack"][i]
        if not ours or (places(llvm) and not places(ours)):
            return None
        with_names = places(llvm) == places(ours)
        for peer in self.peers:
            theirs = self.answers[peer][i]
            if alike(theirs, ours, with_names) and theirs and theirs[-1].name == ours[-1].name:
                return "peer agrees", [f"{peer} says the same"]
        return None

    def by_symbols(self, i):
        """Same lines (or none), but another symbol: the one whose size holds the address wins over
        one without a size, and the innermost of two. One in another section is wrong."""
        llvm, ours = self.answers["llvm"][i], self.answers["rawstack"][i]
        if places(llvm) != places(ours) or names(llvm[:-1]) != names(ours[:-1]):
            return None
        a = self.addresses[i]
        our_name, their_name = (x[-1].name if x else None for x in (ours, llvm))
        mine, other = self.symbols.covers(our_name, a), self.symbols.covers(their_name, a)
        evidence = [f"ours {our_name} {mine}, LLVM's {their_name} {other} (strength, start)"]
        if (mine and not other) or (mine and other and mine >= other):
            return "symbol table", evidence
        if our_name is None and not other:
            return "symbol table", evidence + ["no symbol is right"]
        return None

    def by_alternate(self, i):
        """LLVM reads no dwz alternate file: frames whose names lie there have none. All it says is
        what we say, and the second reader, libdwarf, says the rest: `verify` was asked before."""
        llvm, ours = self.answers["llvm"][i], self.answers["rawstack"][i]
        known = self.alternate and without_unknown(llvm, ours, self.named_by_dwarf[i])
        if known and names(known) == names(llvm):
            return "alternate file", ["names of the alternate file, as libdwarf has them in verify"]
        return None

    def by_functions(self, i):
        """Same lines, and LLVM has no name from DWARF although a function with a name, ours, covers
        the address. Or the same name, of one of several functions that the linker folded together,
        whose line tables hold the address all alike: our line is behind that function's
        declaration, and LLVM's before it, or in another file, or further away."""
        llvm, ours = self.answers["llvm"][i], self.answers["rawstack"][i]
        if len(ours) != 1:
            return None
        a = self.addresses[i]
        if not self.named_by_dwarf[i]:
            right = places(llvm) == places(ours) and self.functions.match(a, ours[0].name)
        else:
            right = (
                len(llvm) == 1
                and llvm[0].name == ours[0].name
                and self.rows.match(a, llvm[0])
                and self.rows.match(a, ours[0])
                and self.functions.behind(a, ours[0]) < self.functions.behind(a, llvm[0])
            )
        if right:
            return "DWARF functions", self.functions.quote(a) + self.rows.quote(a)
        return None

    def by_rows(self, i):
        a = self.addresses[i]
        llvm, ours = self.answers["llvm"][i], self.answers["rawstack"][i]
        mine = bool(places(ours)) and self.rows.match(a, ours[0])
        other = bool(places(llvm)) and self.rows.match(a, llvm[0])
        quote = self.rows.quote(a)
        if mine and not places(llvm) and len(ours) == 1:
            if self.symbols.covers(ours[0].name, a) or self.functions.match(a, ours[0].name):
                return "DWARF rows", quote
            if not llvm and not ours[0].name:  # the gap behind a function
                return "DWARF rows", quote
        if mine and not other and len(ours) == len(llvm) and places(llvm[1:]) == places(ours[1:]):
            return "DWARF rows", quote
        if other and not mine:
            return AGAINST, quote
        return None


@dataclasses.dataclass
class Comparison:
    """Shares are of `count`, where nothing else is said."""

    count: int
    agreement: dict  # {(reader, reader): (share of equal places, share of equal chains with names)}
    # Places as LLVM has them, and the names that LLVM has from DWARF; of the addresses that are not
    # beyond LLVM, and of all.
    equal: float
    equal_of_all: float
    decided: float  # equal, or different in our favour
    differences: list
    beyond: int  # of BEYOND
    plt_unnamed: int  # addresses in PLT stubs that we have no name for


def same(llvm, ours, named_by_dwarf, alternate):
    """Equal but for an outermost name that LLVM has from the symbol table: where a symbol has
    several names at one address there is no right one. With an alternate file, which LLVM does not
    read, also but for names that it does not have."""
    if alternate:
        ours = without_unknown(llvm, ours, named_by_dwarf) or ours
    if named_by_dwarf:
        return names(llvm) == names(ours)
    return places(llvm) == places(ours) and names(llvm[:-1]) == names(ours[:-1])


def compare(path, reference, addresses, answers, named_by_dwarf, silent):
    """`answers`: {reader: [answer]}, with "llvm" and "rawstack"; the last two as readers.Llvm has
    them."""
    count = len(addresses)
    if not count:
        raise readers.ReaderError("no code in it")
    agreement = {}
    for one, two in itertools.combinations(answers, 2):
        pairs = list(zip(answers[one], answers[two]))
        if {one, two} == {"llvm", "rawstack"}:
            equal = [(places(x) == places(y), names(x) == names(y)) for x, y in pairs]
        else:
            equal = [(alike(x, y, False), alike(x, y, True)) for x, y in pairs]
        agreement[one, two] = tuple(sum(column) / count for column in zip(*equal))
    judge = Judge(path, reference, addresses, answers, named_by_dwarf, silent)
    differences = judge.differences()
    against = sum(d.kind not in IN_FAVOUR for d in differences)
    pairs = zip(answers["llvm"], answers["rawstack"], named_by_dwarf)
    equal = sum(same(*p, judge.alternate) for p in pairs)
    unnamed = 0
    for address, ours in zip(addresses, answers["rawstack"]):
        section = judge.symbols.section_of(address)
        unnamed += not ours and section is not None and section.name.startswith((".plt", ".iplt"))
    beyond = sum(d.kind == BEYOND for d in differences)
    return Comparison(
        count,
        agreement,
        equal / max(count - beyond, 1),
        equal / count,
        1 - against / count,
        differences,
        beyond,
        unnamed,
    )
