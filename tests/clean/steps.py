# SPDX-License-Identifier: Apache-2.0
"""Steps in a clean root: commands that are shown and must succeed, what units start there by hand, and that a
purge leaves nothing."""
import contextlib
import glob
import os
import re
import time

CLONE = "/root/rawstack"


def shown(line, status, text):
    print(f"+ {line}\n{text.rstrip()[-3000:]}\n  exit status {status}", flush=True)


def succeed(root, line, cwd=CLONE):
    status, text = (root.apt if line.startswith("apt-get ") else root.run)(line, cwd)
    shown(line, status, text)
    assert status == 0, f"{line}: exit status {status}"
    return text


def wait_until(root, line, text, children):
    """That the line succeeds and prints it, while these children run."""
    until = time.monotonic() + 120
    while True:
        status, said = root.run(line, CLONE)
        if status == 0 and re.search(text, said, re.M):
            return said
        assert all(child.poll() is None for child in children), f"{line}: what it waits for has ended"
        assert time.monotonic() < until, f"{line}: exit status {status}, does not say {text}: {said}"
        time.sleep(0.2)


def settings_of(root, unit):
    """Each (key, value) of the unit and its drop-ins, in the order in which systemd reads them."""
    paths = [root.inside(f"/usr/lib/systemd/system/{unit}")]
    paths += sorted(glob.glob(root.inside(f"/etc/systemd/system/{unit}.d/*.conf")))
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if re.match(r"[A-Z]\w+=", line):
                    yield line.rstrip("\n").split("=", 1)


@contextlib.contextmanager
def started(root, unit, log, more=""):
    """What the unit starts, by hand, for systemd is not in the root: with its StateDirectory= as for a
    user of DynamicUser=, with the files of its LoadCredential= where systemd puts them, and without the
    variables of its options."""
    line = None
    for key, value in settings_of(root, unit):
        if key == "ExecStart":
            line = re.sub(r" \$RAWSTACK_\w+", "", value)
        if key == "StateDirectory" and not os.path.lexists(root.inside("/var/lib/" + value)):
            succeed(root, f"mkdir -p -m 700 /var/lib/private/{value} && ln -s private/{value} /var/lib", "/")
        if key == "LoadCredential":
            name, folder = value.split(":")
            to = f"/run/credentials/{unit}"
            succeed(root, f"mkdir -p {to} && for f in {folder}/*; do "
                          f"install -m 400 $f {to}/{name}_${{f##*/}}; done", "/")
    with root.running(f"{line} {more}", log, CLONE) as child:
        try:
            yield child
        except AssertionError:
            with open(log, encoding="utf-8", errors="replace") as f:
                print(f"{unit}:\n{f.read()[-3000:]}")
            raise


def check_purge(root):
    succeed(root, "apt-get purge 'rawstack*'")
    left = succeed(root, f"find / -xdev -name '*rawstack*' -not -path '{CLONE}*' "
                   "-not -path '/root/.cache/*' -not -path '/srv/*' -not -path '/var/spool/*'", "/")
    assert left == "", f"purging leaves {left}"
