#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fixtures.py [-j N] [--only NAME]... DIR: compiles the parity fixtures into DIR and lists them.
fixtures.py --pairs: the builds, how often each value occurs, and the pairs that cannot be built.

The sources (tests/fixtures/parity) are a C, C++ and assembler program, and one each in Fortran,
Rust and Go. What differs is how they are built: five factors (FACTORS), of which every pair of
values that can exist stands in at least one build, and the shape of the C program (SHAPES).

Every run gives the same code at the same addresses, shown by a hash, whatever DIR is (not the same
file: gcc and rustc draw the identity of a split unit). A build whose compiler is missing is listed
as skipped with the reason; one that fails, or lacks a section that its kind must have, is an
error."""
import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import elffile  # noqa: E402

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "parity")
BUILDS_MAX = 40
COMMAND_SECONDS_MAX = 300  # for a packer that never ends, not for a slow machine
SHT_RELA, SHF_COMPRESSED = 4, 0x800

FACTORS = {
    "compiler": ["gcc", "clang-16", "clang-19", "gfortran", "rustc", "go"],
    "level": ["O2", "O0", "O3", "lto"],
    "dwarf": ["5", "4", "3", "2"],
    "kind": ["plain", "dwo", "dwp", "dwz", "dwz-alt", "type-units"],
    "packing": ["none", "zlib", "zlib-gnu", "zstd"],
}
C_FAMILY = ("gcc", "clang-16", "clang-19")
GNU = ("gcc", "gfortran")

# How the C program is linked; not a factor of the pairs: each shape stands in at least one build.
SHAPES = [
    "exe",
    "shared",
    "static",
    "module",
    "m32",
    "dwarf64",
    "gc-bfd",
    "gc-gold",
    "gc-lld",
    "icf",
]


@dataclasses.dataclass(frozen=True)
class Build:
    compiler: str
    level: str
    dwarf: str
    kind: str
    packing: str
    shape: str

    @property
    def name(self):
        usual = {"kind": "plain", "packing": "none", "shape": "exe"}
        values = dataclasses.asdict(self)
        values["dwarf"] = "dwarf" + self.dwarf
        return "-".join(v for k, v in values.items() if usual.get(k) != v)

    @property
    def split(self):
        return self.kind in ("dwo", "dwp")

    @property
    def dwz(self):
        return self.kind in ("dwz", "dwz-alt")

    @property
    def clang(self):
        return self.compiler.startswith("clang")


# What cannot be built, and why: a build is legal when no rule holds, a pair when a legal build has
# it.
RULES = [
    (lambda b: b.compiler == "go" and b.dwarf != "4", "Go 1.19 writes DWARF 4 only"),
    (lambda b: b.compiler == "rustc" and b.dwarf != "4", "rustc 1.63 writes DWARF 4 only"),
    (
        lambda b: b.compiler == "go" and b.level in ("O3", "lto"),
        "Go knows two levels: -N -l and none",
    ),
    (lambda b: b.compiler == "go" and b.split, "Go makes no split DWARF"),
    (
        lambda b: b.compiler in ("go", "rustc") and b.kind == "type-units",
        "the compiler makes no type units",
    ),
    (lambda b: b.split and b.dwarf in "23", "split DWARF begins with DWARF 4"),
    (lambda b: b.kind == "type-units" and b.dwarf in "23", "type units begin with DWARF 4"),
    (
        lambda b: b.compiler in GNU and b.level == "lto" and b.split,
        "gcc disables -gsplit-dwarf with -flto",
    ),
    (
        lambda b: b.compiler == "gcc" and b.dwarf == "5" and b.kind == "dwp",
        "GNU dwp crashes on DWARF 5, and llvm-dwp-19 never ends on some units of gcc",
    ),
    (
        lambda b: b.compiler == "go" and b.kind == "dwz-alt",
        "dwz -m refuses the section order of Go",
    ),
    (
        lambda b: b.clang and b.dwz and b.dwarf == "5",
        "dwz 0.15 refuses .debug_addr, which clang writes",
    ),
    # Shapes.
    (lambda b: b.shape != "exe" and b.compiler not in C_FAMILY, "shapes are for the C program"),
    (
        lambda b: b.shape == "dwarf64" and (b.kind != "plain" or b.dwarf == "2"),
        "64-bit DWARF begins with DWARF 3, and dwz and dwp do not read it",
    ),
    (
        lambda b: b.shape == "module" and (b.level == "lto" or b.split or b.dwz),
        "no kernel module is built so",
    ),
    (
        lambda b: b.level == "lto" and b.compiler == "gcc" and b.shape in ("gc-lld", "icf"),
        "lld does not read the intermediate code of gcc",
    ),
    (
        lambda b: b.level == "lto" and b.clang and b.shape in ("gc-bfd", "gc-gold"),
        "needs the plugin of LLVM, which is a package of its own",
    ),
]


def reasons_against(build):
    return {why for rule, why in RULES if rule(build)}


def pairs_of(build):
    values = [(factor, getattr(build, factor)) for factor in FACTORS]
    return set(itertools.combinations(values, 2))


def plan():
    """The builds, and {pair: reason} of the pairs that no legal build has.

    Greedy: each round takes the build with the most pairs not yet seen; of several, one whose shape
    is the rarest so far with this compiler and at all; of several still, the first in order. So the
    choice depends on the tables above and on nothing else."""
    legal, reasons = [], {}
    for values in itertools.product(*FACTORS.values(), SHAPES):
        build = Build(*values)
        if not reasons_against(build):
            legal.append((build, pairs_of(build)))
        elif build.shape == "exe":
            for pair in pairs_of(build):
                reasons.setdefault(pair, {why for _, why in RULES}).intersection_update(
                    reasons_against(build)
                )
    todo = set().union(*(pairs for _, pairs in legal))
    illegal = {pair: "; ".join(sorted(why)) for pair, why in reasons.items() if pair not in todo}
    chosen, shapes = [], collections.Counter()
    while todo:

        def gain(item):
            build, pairs = item
            return (len(pairs & todo), -shapes[build.compiler, build.shape], -shapes[build.shape])

        build, pairs = max(legal, key=gain)
        todo -= pairs
        chosen.append(build)
        shapes[build.shape] += 1
        shapes[build.compiler, build.shape] += 1
    return chosen, illegal


def check_plan(chosen, illegal):
    """Says what is wrong with a plan: tests call it with broken ones, too."""
    bad = []
    if len(chosen) > BUILDS_MAX:
        bad.append(f"{len(chosen)} builds, at most {BUILDS_MAX}")
    covered = set().union(*(pairs_of(b) for b in chosen))
    for left, right in itertools.combinations(FACTORS, 2):
        for pair in itertools.product(FACTORS[left], FACTORS[right]):
            pair = ((left, pair[0]), (right, pair[1]))
            if pair not in covered and pair not in illegal:
                bad.append(f"no build has {pair}")
            if pair in covered and pair in illegal:
                bad.append(f"{pair} is built, and listed as impossible")
    bad += [f"no build has shape {s}" for s in SHAPES if s not in {b.shape for b in chosen}]
    bad += [f"{b.name}: {why}" for b in chosen for why in reasons_against(b)]
    return bad


@dataclasses.dataclass
class Fixture:
    """A build that was tried. `path` goes to the program under test, `reference` to LLVM, which
    does not read every packing (zlib-gnu, dwz alternate files): it is then the same file before
    that step."""

    name: str
    build: Build
    path: str = ""
    reference: str = ""
    flags: str = ""
    skipped: str = ""
    error: str = ""
    sections: tuple = ()
    code_sha256: str = ""


class BuildError(Exception):
    pass


class Builder:
    """One build, in a directory of its own below `root`. Compilers run there and see the sources as
    ../src, so that only `root` differs between two runs; it is mapped away."""

    def __init__(self, root, build):
        self.root = root
        self.build = build
        self.dir = os.path.join(root, build.name)
        self.file = build.name + {"module": ".ko", "shared": ".so", "m32": ".so"}.get(
            build.shape, ""
        )

    def run(self, *argv):
        environment = dict(
            os.environ,
            LC_ALL="C",
            SOURCE_DATE_EPOCH="0",
            HOME=self.root,
            TMPDIR=self.dir,
            RUSTC_BOOTSTRAP="1",
            GOCACHE=os.path.join(self.root, "go-cache"),
            GOFLAGS="-mod=mod -trimpath",
            GO111MODULE="off",
            GOPROXY="off",
        )
        try:
            done = subprocess.run(
                argv,
                cwd=self.dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                errors="replace",
                timeout=COMMAND_SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"{' '.join(argv)}: not done after {COMMAND_SECONDS_MAX} s") from None
        if done.returncode:
            lines = done.stdout.strip().splitlines() or ["no output"]
            error = next((line for line in lines if "error" in line.lower()), lines[-1])
            raise BuildError(f"{' '.join(argv)}: exit {done.returncode}: {error}")
        return done.stdout

    def make(self):
        b = self.build
        missing = [tool for tool in self.tools() if shutil.which(tool) is None]
        if missing:
            return Fixture(b.name, b, skipped=f"{', '.join(missing)}: not installed")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        try:
            {"gfortran": self.fortran, "rustc": self.rust, "go": self.go}.get(b.compiler, self.c)()
            reference = self.package()
            fixture = self.inspect(reference)
        except (BuildError, OSError) as e:
            return Fixture(b.name, b, error=str(e).replace(self.root, "DIR"))
        return fixture

    def driver(self):
        # Not the first of $PATH: a compiler that its user installed elsewhere is another version.
        return {
            "rustc": "/usr/bin/rustc",
            "go": "/usr/bin/go",
            "gfortran": "gfortran-12",
            "gcc": "gcc-12",
        }.get(self.build.compiler, self.build.compiler)

    def dwp(self):
        """The packer that goes with the compiler, but the GNU one crashes on DWARF 5."""
        b = self.build
        if b.clang:
            return "llvm-dwp-" + b.compiler[-2:]
        return "dwp" if b.dwarf == "4" else "llvm-dwp-19"

    def objcopy(self):
        # llvm-objcopy mixes up the section names of Go, whose string table is not the last section.
        b = self.build
        return "llvm-objcopy-19" if b.packing == "zstd" and b.compiler != "go" else "objcopy"

    def tools(self):
        b = self.build
        tools = [self.driver(), self.objcopy()]
        if b.compiler in C_FAMILY:
            tools.append(self.cxx())
        if b.shape in ("icf", "gc-lld") or (b.clang and b.level == "lto"):
            tools.append("ld.lld-19")
        if b.shape == "gc-gold":
            tools.append("ld.gold")
        if b.kind == "dwp" and b.compiler != "rustc":
            tools.append(self.dwp())
        if b.dwz:
            tools.append("dwz")
        return tools

    # Compilers.

    def cxx(self):
        return self.driver().replace("gcc", "g++").replace("clang", "clang++")

    def debug_flags(self):
        b = self.build
        flags = ["-g", f"-gdwarf-{b.dwarf}", "-O2" if b.level == "lto" else "-" + b.level]
        # Loose .dwo files are found by the name in the unit, so they need a directory that exists.
        seen_as = "." if b.split else "/build/" + b.name
        if b.clang:
            flags += [f"-fdebug-compilation-dir={seen_as}"]
        else:
            flags += [f"-ffile-prefix-map={self.dir}={seen_as}", f"-frandom-seed={b.name}"]
        # Without it gcc keeps what later versions brought: 2 and 3 would be 4 in all but name.
        if b.compiler in GNU and b.dwarf in "23":
            flags += ["-gstrict-dwarf"]
        if b.level == "lto":
            flags += ["-flto"]
        if b.split:
            flags += ["-gsplit-dwarf"]
        if b.kind == "type-units":
            flags += ["-fdebug-types-section"]
        if b.shape == "dwarf64":
            flags += ["-gdwarf64"]
        return flags

    def shape_flags(self):
        """(compiler flags, linker flags) of the C program."""
        b = self.build
        compile_, link = [], []
        if b.shape == "shared":
            compile_, link = ["-fPIC"], ["-shared"]
        elif b.shape == "static":
            link = ["-static"]
        elif b.shape == "module":
            compile_ = ["-fno-pic", "-mcmodel=kernel", "-ffreestanding"]
            link = ["-r", "-nostdlib", "-no-pie"]
        elif b.shape == "m32":
            # No 32-bit C library is needed for a shared object that leaves its names open.
            compile_, link = ["-m32", "-fPIC", "-DPARITY_FREESTANDING"], [
                "-m32",
                "-shared",
                "-nostdlib",
            ]
        elif b.shape.startswith("gc-") or b.shape == "icf":
            compile_ = ["-ffunction-sections", "-fdata-sections"]
            linker = "lld" if b.shape == "icf" else b.shape[3:]
            link = [
                f"-fuse-ld={linker}",
                "-Wl,--icf=all" if b.shape == "icf" else "-Wl,--gc-sections",
            ]
        if b.level == "lto":
            if b.compiler == "gcc":
                # Temporary files have random names, which end in the symbol table.
                link += ["-flto-partition=max", "-save-temps"]
            else:
                if not any(flag.startswith("-fuse-ld") for flag in link):
                    link += ["-fuse-ld=lld"]
                if b.kind == "type-units":
                    link += ["-Wl,-mllvm,-generate-type-units"]
        return compile_, link

    def c(self):
        b = self.build
        cc = self.driver()
        cxx = self.cxx()
        compile_, link = self.shape_flags()
        debug = self.debug_flags()
        define = ["-DPARITY_ASM"]
        define += ["-DPARITY_CXX"] if b.shape != "module" else []
        define += ["-DPARITY_NESTED"] if b.compiler == "gcc" else []
        self.flags = debug + compile_ + link
        units = ["main", "deep", "cold", "line", "alias", "nested", "parallel"]
        objects = []
        for unit in units:
            # -c alone would name .dwo files after the object: the same.
            self.run(
                cc,
                *debug,
                *compile_,
                *define,
                "-fopenmp",
                "-c",
                f"../src/{unit}.c",
                "-o",
                unit + ".o",
            )
            objects.append(unit + ".o")
        if b.shape != "module":
            for unit in ("comdat_a", "comdat_b", "types"):
                self.run(
                    cxx,
                    *debug,
                    *compile_,
                    "-std=c++17",
                    "-c",
                    f"../src/{unit}.cc",
                    "-o",
                    unit + ".o",
                )
                objects.append(unit + ".o")
        plain = [
            f for f in debug + compile_ if f == "-m32" or f.startswith(("-ffile", "-fdebug-comp"))
        ]
        if b.clang:
            self.run(
                cc, *plain, "-fPIC", "-w", "-c", "../src/parallel_stub.c", "-o", "parallel_stub.o"
            )
            objects.append("parallel_stub.o")
        described = [
            f for f in debug + plain if f not in ("-flto", "-gsplit-dwarf", "-fdebug-types-section")
        ]
        self.run(cc, *described, "-c", "../src/described.S", "-o", "described.o")
        for unit in ("bare_rows", "symbols"):
            self.run(cc, *plain, "-c", f"../src/{unit}.S", "-o", unit + ".o")
        # The GNU assembler makes a unit for .loc rows: take it away.
        self.run(
            "objcopy",
            "-R",
            ".debug_info",
            "-R",
            ".debug_abbrev",
            "-R",
            ".debug_aranges",
            "-R",
            ".debug_rnglists",
            "-R",
            ".debug_ranges",
            "-R",
            ".debug_str",
            "bare_rows.o",
        )
        objects += ["described.o", "bare_rows.o", "symbols.o"]
        # -fuse-ld=lld takes what is called ld.lld, and that need not be the one of LLVM 19.
        tools = os.path.join(self.dir, "tools")
        os.mkdir(tools)
        os.symlink("/usr/bin/ld.lld-19", os.path.join(tools, "ld.lld"))
        link += ["-B", tools + "/", "-Wl,--build-id=sha1"]
        if b.shape != "module":
            link += ["-Wl,-z,noexecstack"]
        if b.compiler == "gcc" and b.shape not in ("m32", "module"):
            link += ["-fopenmp"]
        self.run(cxx, *debug, *compile_, *link, *objects, "-o", self.file)

    def fortran(self):
        self.flags = self.debug_flags()
        self.run(
            self.driver(),
            *self.flags,
            "-fopenmp",
            "-I../src",
            "-c",
            "../src/main.F90",
            "-o",
            "main.o",
        )
        link = ["-flto-partition=max", "-save-temps"] if self.build.level == "lto" else []
        self.run(
            self.driver(),
            *self.flags,
            *link,
            "-fopenmp",
            "-Wl,--build-id=sha1",
            "main.o",
            "-o",
            self.file,
        )

    def rust(self):
        b = self.build
        level = {"O0": "0", "O2": "2", "O3": "3", "lto": "2"}[b.level]
        self.flags = ["-C", "debuginfo=2", "-C", f"opt-level={level}"]
        if b.level == "lto":
            self.flags += ["-C", "lto=fat"]
        if b.split:
            self.flags += [
                "-Z",
                "unstable-options",
                "-C",
                "split-debuginfo=" + {"dwo": "unpacked", "dwp": "packed"}[b.kind],
            ]
        mapped = [self.dir + "=."] if b.split else [self.root + "=/build"]
        self.run(
            self.driver(),
            *self.flags,
            "--remap-path-prefix",
            *mapped,
            "-C",
            "link-arg=-Wl,--build-id=sha1",
            "../src/main.rs",
            "-o",
            self.file,
        )

    def go(self):
        b = self.build
        compress = "true" if b.packing == "zlib" else "false"
        self.flags = [f"-ldflags=-compressdwarf={compress} -buildid={b.name}"]
        if b.level == "O0":
            self.flags += ["-gcflags=-N -l"]
        self.run(self.driver(), "build", *self.flags, "-o", self.file, "../src/main.go")

    # What is done to the linked file.

    def package(self):
        """Returns the file for LLVM."""
        b = self.build
        reference = self.file

        def before():
            shutil.copy(
                os.path.join(self.dir, self.file), os.path.join(self.dir, self.file + ".before")
            )
            if os.path.exists(os.path.join(self.dir, self.file + ".dwp")):
                os.symlink(self.file + ".dwp", os.path.join(self.dir, self.file + ".before.dwp"))
            return self.file + ".before"

        if b.kind == "dwp" and b.compiler != "rustc":
            self.run(self.dwp(), "-e", self.file, "-o", self.file + ".dwp")
            for name in os.listdir(self.dir):
                if name.endswith(".dwo"):
                    os.remove(os.path.join(self.dir, name))
        if b.kind == "dwz":
            self.run("dwz", self.file)
        if b.kind == "dwz-alt":
            reference = before()
            shutil.copy(
                os.path.join(self.dir, self.file), os.path.join(self.dir, self.file + ".twin")
            )
            self.run(
                "dwz",
                "-m",
                self.file + ".alt",
                "-M",
                self.file + ".alt",
                self.file,
                self.file + ".twin",
            )
        if b.packing != "none" and not (b.compiler == "go" and b.packing == "zlib"):
            if b.packing == "zlib-gnu" and reference == self.file:
                reference = before()
            self.run(self.objcopy(), f"--compress-debug-sections={b.packing}", self.file)
        return reference

    def inspect(self, reference):
        """The fixture, when it has what its kind and packing promise."""
        b = self.build
        path = os.path.join(self.dir, self.file)
        elf = elffile.ElfFile(path)
        names = [s.name for s in elf.sections if "debug" in s.name and s.type != SHT_RELA]
        files = [f for _, _, names_ in os.walk(self.dir) for f in names_]
        info = [s for s in elf.sections if s.name in (".debug_info", ".zdebug_info")]
        wanted = {
            "a unit": bool(info),
            ".dwo files": b.kind != "dwo" or any(f.endswith(".dwo") for f in files),
            "a .dwp file": b.kind != "dwp" or self.file + ".dwp" in files,
            "an alternate file": b.kind != "dwz-alt" or ".gnu_debugaltlink" in names,
            ".zdebug": b.packing != "zlib-gnu" or any(n.startswith(".zdebug") for n in names),
            "SHF_COMPRESSED": b.packing not in ("zlib", "zstd")
            or any(s.flags & SHF_COMPRESSED for s in elf.sections),
            ".debug_types": b.kind != "type-units"
            or b.dwarf != "4"
            or any("debug_types" in n for n in names),
        }
        missing = [what for what, there in wanted.items() if not there]
        if missing:
            raise BuildError(f"has no {', '.join(missing)}; sections: {' '.join(names)}")
        digest = hashlib.sha256()
        with open(path, "rb") as f:
            for section in elf.code_sections():
                f.seek(section.offset)
                digest.update(f.read(section.size))
        flags = " ".join(self.flags).replace(self.dir, "DIR").replace(self.root, "ROOT")
        return Fixture(
            b.name,
            b,
            path,
            os.path.join(self.dir, reference),
            flags,
            sections=tuple(names),
            code_sha256=digest.hexdigest(),
        )


def build_all(root, jobs=2, only=()):
    """Builds into `root`, which must exist; returns the fixtures in the order of the plan."""
    root = os.path.realpath(root)
    source = os.path.join(root, "src")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(SOURCES, source)
    builds = [b for b in plan()[0] if not only or b.name in only]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda b: Builder(root, b).make(), builds))


def print_table(fixtures):
    row = "{:<44} {:<9} {:<5} {:<5} {:<10} {:<8} {:<8} {:<8} {}"
    print(
        row.format(
            "fixture", "compiler", "level", "dwarf", "kind", "packing", "shape", "code", "sections"
        )
    )
    for f in fixtures:
        b = f.build
        short = " ".join(s.replace(".debug_", "").replace(".zdebug_", "z:") for s in f.sections)
        print(
            row.format(
                f.name,
                b.compiler,
                b.level,
                b.dwarf,
                b.kind,
                b.packing,
                b.shape,
                f.code_sha256[:8],
                f"SKIPPED: {f.skipped}"
                if f.skipped
                else f"FAILED: {f.error}"
                if f.error
                else short,
            )
        )


def print_plan():
    chosen, illegal = plan()
    print(f"{len(chosen)} builds:")
    for b in chosen:
        print("  " + b.name)
    print("builds by value:")
    for factor, values in [*FACTORS.items(), ("shape", SHAPES)]:
        print(
            f"  {factor}: "
            + ", ".join(f"{v} {sum(getattr(b, factor) == v for b in chosen)}" for v in values)
        )
    print(f"{len(illegal)} pairs that cannot be built:")
    for pair, why in sorted(illegal.items()):
        print(
            "  {:<9} {:<10} {:<8} {:<10} {}".format(
                pair[0][0], pair[0][1], pair[1][0], pair[1][1], why
            )
        )
    return check_plan(chosen, illegal)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", nargs="?", metavar="DIR")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="builds at the same time")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--pairs", action="store_true")
    args = parser.parse_args()
    if args.pairs:
        bad = print_plan()
        for line in bad:
            print("fixtures.py: " + line, file=sys.stderr)
        return 1 if bad else 0
    with tempfile.TemporaryDirectory(prefix="rawstack-fixtures-") as scratch:
        root = args.dir or scratch
        os.makedirs(root, exist_ok=True)
        fixtures = build_all(root, args.j, args.only)
    print_table(fixtures)
    return 1 if any(f.error for f in fixtures) else 0


if __name__ == "__main__":
    sys.exit(main())
