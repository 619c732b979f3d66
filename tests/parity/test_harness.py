#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the parity tools themselves: on text as each tool prints it, on a program whose answers
are known, and with planted differences, each of which must be found. Needs no program of
Rawstack."""
import dataclasses
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import draw  # noqa: E402
import elffile  # noqa: E402
import fixtures  # noqa: E402
import readers  # noqa: E402
from readers import Frame  # noqa: E402

TOOLS = ("gcc", "llvm-symbolizer-19", "llvm-dwarfdump-19", "addr2line", "eu-addr2line")

# Line 700 and so on are where #line puts them; `middle` is inlined into `outer`.
SOURCE = """\
volatile int sink;
#line 700 "planted dir/planted.y"
static inline __attribute__((always_inline)) void middle(int a)
{
	sink = a; /* 702 */
}
#line 20 "second.y"
__attribute__((noinline)) void outer(int a)
{
	middle(a + 1); /* 22 */
}
#line 40
__attribute__((noinline)) int plain(int a)
{
	return a * sink; /* 42 */
}
int main(int argc, char **argv)
{
	(void)argv;
	outer(argc); /* 47 */
	return plain(argc);
}
"""


class Parsing(unittest.TestCase):
    def test_llvm(self):
        text = (
            "inner\n/a/./b/../x:y.c:3:7\nouter\n/a/x y.c:0:0\n\n"
            "??\n??:0:0\n\n"
            "only_symbol\n??:0:0\n\n"
            "??\nrows.s:4:0\n\n"
        )
        self.assertEqual(
            readers.parse_llvm(text, 4),
            [
                (Frame("inner", "/a/x:y.c", 3), Frame("outer", "/a/x y.c", 0)),
                (),
                (Frame("only_symbol", None, 0),),
                (Frame(None, "rows.s", 4),),
            ],
        )

    def test_llvm_wants_every_answer(self):
        for text in ("f\nx.c:1:1\n\n", "f\nx.c:1:1\n\n" * 3, "f\n\nf\nx.c:1:1\n\n"):
            with self.assertRaises(readers.ReaderError):
                readers.parse_llvm(text, 2)

    def test_addr2line(self):
        text = (
            "0x0000000000001139\ninner\n/a/x.c:3 (discriminator 2)\nouter\n/a/x.c:?\n"
            "0x0000000000000001\n??\n??:0\n"
            "0x0000000000000002\n??\n??:?\n"
            "0x0000000000000003\n0x10\nx (y).c:5\n"
        )
        self.assertEqual(
            readers.parse_addr2line(text, [0x1139, 1, 2, 3]),
            [
                (Frame("inner", "/a/x.c", 3), Frame("outer", "/a/x.c", 0)),
                (),
                (),
                (Frame("0x10", "x (y).c", 5),),
            ],
        )

    def test_eu(self):
        text = (
            "0x0000000000001139\n"
            "inner inlined at /a/x.c:8:2 in outer\n/a/y.c:3:7\nouter\n/a/x.c:8:2\n"
            "0x0000000000000001\n??\n??:0\n"
            "0x0000000000000002\nf\n/a/x:1.c:4\n"
        )
        self.assertEqual(
            readers.parse_eu(text, [0x1139, 1, 2]),
            [
                (Frame("inner", "/a/y.c", 3), Frame("outer", "/a/x.c", 8)),
                (),
                (Frame("f", "/a/x:1.c", 4),),
            ],
        )

    def test_symbol_names_fill_what_dwarf_leaves_open(self):
        join = readers.Llvm.join
        f, inner = Frame("f", "x.c", 1), Frame("i", "x.c", 2)
        cold, bare = Frame("f.cold", "x.c", 1), Frame(None, "x.c", 1)
        self.assertEqual(join((inner, f), (inner, cold)), (inner, f))
        self.assertEqual(join((bare,), (cold,)), (cold,))
        self.assertEqual(join((), (Frame("f.cold", "f.c", 0),)), (Frame("f.cold", None, 0),))
        self.assertEqual(join((), ()), ())

    def test_paths_of_peers(self):
        self.assertTrue(compare.path_alike("libio/x.h", "libio/libio/x.h"))
        self.assertFalse(compare.path_alike("io/x.h", "libio/x.h"))
        self.assertFalse(compare.path_alike("x.h", None))


class Known(unittest.TestCase):
    """All three readers on the program above, built once; one of them plays Rawstack."""

    @classmethod
    def setUpClass(cls):
        missing = [t for t in TOOLS if not shutil.which(t)]
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)}: not installed")
        cls.dir = tempfile.TemporaryDirectory(prefix="rawstack-harness-")
        cls.path = os.path.join(cls.dir.name, "known")
        subprocess.run(
            ["gcc", "-g", "-O1", "-x", "c", "-", "-o", cls.path],
            input=SOURCE,
            text=True,
            check=True,
            cwd=cls.dir.name,
        )
        cls.elf = elffile.ElfFile(cls.path)
        cls.addresses = draw.draw("known", cls.path, 200)
        llvm = readers.Llvm(cls.path, cls.dir.name)
        cls.answers = {
            r.name: r.ask(cls.addresses)
            for r in (llvm, readers.Addr2line(cls.path), readers.EuAddr2line(cls.path))
        }
        cls.named_by_dwarf, cls.silent = llvm.named_by_dwarf, llvm.silent

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def start_of(self, name):
        return next(s.value for s in self.elf.symbols if s.name == name)

    def index(self, wanted):
        """Of an address with such a chain; `wanted` tests it."""
        return next(i for i, a in enumerate(self.answers["llvm"]) if wanted(a))

    def judged(self, changes, peers_too=()):
        """The comparison with a Rawstack that says what LLVM says, but for changes {index:
        answer}."""
        answers = {name: list(a) for name, a in self.answers.items()}
        answers["rawstack"] = list(answers["llvm"])
        for name in ("rawstack", *peers_too):
            for i, answer in changes.items():
                answers[name][i] = answer
        return self.compared(answers)

    def compared(self, answers, silent=()):
        """`silent`: where LLVM's DWARF reader is to have said nothing."""
        return compare.compare(
            self.path,
            self.path,
            self.addresses,
            answers,
            self.named_by_dwarf,
            [s or i in silent for i, s in enumerate(self.silent)],
        )

    def test_drawing(self):
        code = self.elf.code_sections()
        self.assertEqual(self.addresses, draw.draw("known", self.path, 200))
        self.assertNotEqual(self.addresses, draw.draw("other", self.path, 200))
        self.assertEqual(len(set(self.addresses)), 200)
        self.assertTrue(
            all(any(s.addr <= a < s.addr + s.size for s in code) for a in self.addresses)
        )
        everything = draw.draw("known", self.path, 1 << 20)
        self.assertEqual(len(everything), sum(s.size for s in code))
        self.assertEqual(len(set(everything)), len(everything))

    def test_readers_know_the_answers(self):
        for name, line in (("plain", 42), ("main", 45)):
            for reader in (
                readers.Llvm(self.path, tempfile.mkdtemp(dir=self.dir.name)),
                readers.Addr2line(self.path),
                readers.EuAddr2line(self.path),
            ):
                (answer,) = reader.ask([self.start_of(name)])
                self.assertEqual(
                    [(f.name, os.path.basename(f.file), f.line) for f in answer],
                    [(name, "second.y", line)],
                    reader.name,
                )

    def test_inlined_call(self):
        i = self.index(lambda a: len(a) == 2)
        for reader, answers in self.answers.items():
            self.assertEqual(
                [(f.name, f.line) for f in answers[i]], [("middle", 702), ("outer", 22)], reader
            )
            self.assertTrue(answers[i][0].file.endswith("/planted dir/planted.y"), reader)

    def test_line_rows(self):
        i = self.index(lambda a: a and a[0].name == "plain")
        a, frame = self.addresses[i], self.answers["llvm"][i][0]
        rows = compare.LineRows(self.path, [a])
        self.assertTrue(rows.match(a, frame))
        self.assertFalse(rows.match(a, frame._replace(line=frame.line + 1)))
        self.assertFalse(rows.match(a, frame._replace(file="/elsewhere/third.y")))

    def test_declarations(self):
        i = self.index(lambda a: a and a[0].name == "plain")
        a, frame = self.addresses[i], self.answers["llvm"][i][0]
        functions = compare.Functions(self.path, [a])
        self.assertTrue(functions.match(a, "plain"))
        self.assertFalse(functions.match(a, "outer"))
        for line, behind in ((39, math.inf), (40, 0), (42, 2)):
            self.assertEqual(functions.behind(a, frame._replace(line=line)), behind)
        for wrong in ({"name": "outer"}, {"file": "/elsewhere/third.y"}):
            self.assertEqual(functions.behind(a, frame._replace(line=42, **wrong)), math.inf)

    def test_no_difference(self):
        result = self.judged({})
        self.assertEqual((result.equal, result.decided, result.differences), (1, 1, []))
        self.assertEqual(result.agreement["llvm", "rawstack"], (1, 1))

    def test_planted_differences_are_found(self):
        i = self.index(lambda a: len(a) == 2)
        inner, outer = self.answers["llvm"][i]
        planted = {
            "line": (inner._replace(line=703), outer),
            "call line": (inner, outer._replace(line=23)),
            "file": (inner._replace(file="/elsewhere/planted.y"), outer),
            "name": (inner._replace(name="muddle"), outer),
            "outer name": (inner, outer._replace(name="plain")),
            "frame lost": (outer,),
            "frame more": (inner, outer, outer),
            "order": (outer, inner),
            "no line": (Frame("outer", None, 0),),
            "nothing": (),
        }
        for what, answer in planted.items():
            with self.subTest(what):
                result = self.judged({i: answer})
                self.assertEqual([d.address for d in result.differences], [self.addresses[i]])
                self.assertNotIn(result.differences[0].kind, compare.IN_FAVOUR)
                self.assertLess(result.equal, 1)
                self.assertLess(result.decided, 1)

    def test_wrong_line_is_decided_by_its_row(self):
        i = self.index(lambda a: a and a[0].name == "plain")
        (frame,) = self.answers["llvm"][i]
        (difference,) = self.judged({i: (frame._replace(line=frame.line + 100),)}).differences
        self.assertEqual(difference.kind, compare.AGAINST)
        self.assertTrue(any(f" {frame.line} " in line for line in difference.evidence))

    def test_peer_that_agrees(self):
        i = self.index(lambda a: len(a) == 2)
        inner, outer = self.answers["llvm"][i]
        (difference,) = self.judged(
            {i: (inner._replace(line=703), outer)}, ["addr2line"]
        ).differences
        self.assertEqual(difference.kind, "peer agrees")

    def test_wrong_llvm(self):
        """A line that only LLVM has not. Only where its DWARF has nothing at all is that beyond it,
        whoever decides: a row, or a peer."""
        i = self.index(lambda a: a and a[0].name == "plain")
        (frame,) = self.answers["llvm"][i]
        symbol = frame._replace(file=None, line=0)
        for theirs, silent, peers, kind in (
            ((frame._replace(line=1),), (), ("addr2line", "eu-addr2line"), "DWARF rows"),
            ((symbol,), (), ("addr2line", "eu-addr2line"), "DWARF rows"),
            ((symbol,), (), (), "peer agrees"),
            ((symbol,), (i,), (), "beyond LLVM"),
            ((), (i,), ("addr2line", "eu-addr2line"), "beyond LLVM"),
        ):
            answers = {name: list(a) for name, a in self.answers.items()}
            answers["rawstack"] = list(answers["llvm"])
            for name in ("llvm", *peers):
                answers[name][i] = theirs
            result = self.compared(answers, silent)
            self.assertEqual([d.kind for d in result.differences], [kind])
            self.assertEqual(result.decided, 1)
            self.assertEqual(result.beyond, kind == "beyond LLVM")
            self.assertEqual(result.equal == 1, kind == "beyond LLVM")
            self.assertLess(result.equal_of_all, 1)

    def test_beyond_llvm_needs_a_symbol(self):
        """Where no symbol holds the address, an answer of ours alone is a difference, even one that
        a peer has too."""
        symbols = compare.Symbols(self.elf)
        i = next(i for i, a in enumerate(self.addresses) if not symbols.holding(a))
        answers = {name: list(a) for name, a in self.answers.items()}
        answers["rawstack"] = list(answers["llvm"])
        (frame,) = self.answers["llvm"][self.index(lambda a: a and a[0].name == "plain")]
        answers["llvm"][i] = ()
        answers["rawstack"][i] = answers["addr2line"][i] = (frame,)
        result = self.compared(answers, (i,))
        self.assertEqual([d.kind for d in result.differences], ["peer agrees"])
        self.assertEqual(result.beyond, 0)
        self.assertLess(result.equal, 1)

    def test_symbol_that_does_not_hold_the_address(self):
        symbols = compare.Symbols(self.elf)
        a = self.start_of("plain")
        self.assertEqual(symbols.covers("plain", a + 1), (2, a))
        self.assertIsNone(symbols.covers("outer", a + 1))
        self.assertIsNone(symbols.covers("puts@plt", a))
        self.assertEqual(symbols.holding(a + 1), "plain")
        self.assertIsNone(symbols.holding(a - 1 if symbols.section_of(a - 1) is None else 0))


class Plan(unittest.TestCase):
    def test_plan_is_good_and_always_the_same(self):
        chosen, illegal = fixtures.plan()
        self.assertEqual(fixtures.check_plan(chosen, illegal), [])
        self.assertEqual(chosen, fixtures.plan()[0])
        self.assertTrue(all(illegal.values()))

    def test_plan_with_a_fault(self):
        chosen, illegal = fixtures.plan()
        self.assertTrue(fixtures.check_plan([b for b in chosen if b.compiler != "go"], illegal))
        self.assertTrue(fixtures.check_plan([b for b in chosen if b.shape != "icf"], illegal))
        self.assertTrue(fixtures.check_plan(chosen * 2, illegal))
        self.assertTrue(fixtures.check_plan(chosen, {}))
        bad = dataclasses.replace(chosen[0], compiler="go", dwarf="5")
        self.assertTrue(fixtures.check_plan(chosen + [bad], illegal))

    def test_missing_compiler_is_skipped_and_said(self):
        with tempfile.TemporaryDirectory() as root:
            build = dataclasses.replace(fixtures.plan()[0][0], compiler="clang-1")
            skipped = fixtures.Builder(root, build).make().skipped
            self.assertRegex(skipped, "clang-1.*: not installed")


if __name__ == "__main__":
    unittest.main()
