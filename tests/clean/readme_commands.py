# SPDX-License-Identifier: Apache-2.0
"""The commands that the tree's README files tell people to run. A fence says what it holds: `sh` has
commands, one a line; `console` a transcript, with a $ before each command; `text` neither."""
import os
import re
import subprocess


class Block:
    def __init__(self, path, heading, number, kind):
        self.path, self.heading, self.number, self.kind = path, heading, number, kind
        self.lines = []

    def __str__(self):
        return f"{self.path}: {self.heading}, block {self.number}"

    def commands(self):
        if self.kind == "console":
            return [line[2:] for line in self.lines if line.startswith("$ ")]
        return [line for line in self.lines if line.strip()] if self.kind == "sh" else []


def blocks_of(src, path):
    result, block, heading, number = [], None, "", 0
    with open(os.path.join(src, path), encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("```") and block is None:
                number += 1
                block = Block(path, heading, number, line[3:].strip())
                assert block.kind in ("sh", "console", "text"), \
                    f"{block}: the fence does not say sh, console or text"
                result.append(block)
            elif line.startswith("```"):
                block = None
            elif block is not None:
                block.lines.append(line)
            elif re.match(r"#+ ", line):
                heading, number = line.lstrip("# "), 0
    return result


def readme_blocks(src):
    """Of all README files of the tree, as git knows it: tests leave links to everything in build trees."""
    paths = subprocess.run(["git", "-C", src, "ls-files", "--cached", "--others", "--exclude-standard",
                            "README.md", "*/README.md"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [block for path in sorted(paths.splitlines()) if os.path.exists(os.path.join(src, path))
            for block in blocks_of(src, path)]
