# SPDX-License-Identifier: Apache-2.0
"""What tests of lints share: each fault is made in a copy of the tree, has to be found under its name, and is
taken back."""
import os
import shutil
import subprocess

SRC = os.environ["RAWSTACK_SRC"]
COPY = "tree"


def run_lint(lint):
    p = subprocess.run([os.path.join(SRC, "tests/lint", lint), COPY], stdout=subprocess.PIPE, text=True)
    return p.returncode, p.stdout


def copy_tree(patterns):
    shutil.rmtree(COPY, ignore_errors=True)  # that of a run before has files that were renamed since
    names = subprocess.run(["git", "-C", SRC, "ls-files", "-z", "-co", "--exclude-standard", *patterns],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if os.path.exists(os.path.join(SRC, name)):
            os.makedirs(os.path.join(COPY, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(SRC, name), os.path.join(COPY, name))


def check_faults(lint, patterns, faults):
    """Each fault is (file, what is appended to it, or written where there is none, what is said of it; None:
    nothing, it is no fault). Returns the exit status."""
    copy_tree(patterns)
    status, said = run_lint(lint)
    failed = [f"the tree as it is: {said}"] if status else []
    for name, text, expected in faults:
        path = os.path.join(COPY, name)
        before = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write((before or "") + text)
        status, said = run_lint(lint)
        if expected is None:
            if status:
                failed.append(f"{name}: {text!r} is no fault, and said was: {said}")
        elif not status or expected not in said:
            failed.append(f"{name}: {text!r}: not {expected!r}, but: {said}")
        if before is None:
            os.remove(path)
            if not os.listdir(os.path.dirname(path)):
                os.rmdir(os.path.dirname(path))
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(before)
    for line in failed:
        print(line)
    print(f"{lint}: {len(faults)} changes, {len(failed)} judged wrongly")
    return int(bool(failed))
