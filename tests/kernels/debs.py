# SPDX-License-Identifier: Apache-2.0
"""Packages to upgrade from and to: that of version 0.1, and those of a build with a higher version."""
import glob
import os
import shutil
import subprocess

from archive import CACHE, Unavailable, command, locked

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The last one of version 0.1.
OLD_COMMIT = "2d6f9eb0e8d558f79ab31af4f12c367214534798"
OLD_PACKAGE = "rawstack_0.1.0_amd64.deb"


def is_old_package_made():
    return os.path.exists(f"{CACHE}/rawstack-0.1/{OLD_PACKAGE}")


def old_package():
    """A package of version 0.1, made once, which takes minutes; None in a clone without history."""
    with locked("rawstack-0.1") as folder:
        path = f"{folder}/{OLD_PACKAGE}"
        if os.path.exists(path):
            return path
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder + "/tree")
        try:
            command("git", "-C", SRC, "archive", "-o", folder + "/tree.tar", OLD_COMMIT)
        except Unavailable:
            print("no package of version 0.1: this clone does not have its commit")
            return None
        command("tar", "-C", folder + "/tree", "-xf", folder + "/tree.tar")
        build = folder + "/build"
        command("cmake", "-G", "Ninja", "-S", folder + "/tree", "-B", build, "-DRAWSTACK_TESTS=OFF",
                "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
        command("cmake", "--build", build)
        command("cpack", "-B", folder + "/packed", cwd=build)
        os.rename(f"{folder}/packed/{OLD_PACKAGE}", path)
        os.remove(folder + "/tree.tar")
        for made in ("tree", "build", "packed"):
            shutil.rmtree(f"{folder}/{made}")
        return path


def make_newer(folder, output):
    """Of the packages rawstack* in the folder: the same with a higher version and nothing else."""
    os.makedirs(output)
    for path in sorted(glob.glob(folder + "/rawstack*.deb")):
        tree = output + "/tree"
        subprocess.run(["dpkg-deb", "-R", path, tree], check=True)
        with open(tree + "/DEBIAN/control", encoding="utf-8") as f:
            control = f.read()
        version = next(line[9:] for line in control.splitlines() if line.startswith("Version: "))
        control = control.replace("Version: " + version, "Version: 99")
        control = control.replace(f"(= {version})", "(= 99)")
        with open(tree + "/DEBIAN/control", "w", encoding="utf-8") as f:
            f.write(control)
        subprocess.run(["dpkg-deb", "-b", tree, output], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
