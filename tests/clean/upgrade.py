# SPDX-License-Identifier: Apache-2.0
"""From version 0.1 to this one and to a newer one, in a root without systemd: what units would start is started
by hand. The store, the spool and what an administrator wrote are kept, until a purge."""
import contextlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kernels"))
from debs import make_newer  # noqa: E402
from steps import CLONE, check_purge, started, succeed, wait_until  # noqa: E402

STORE, SPOOL, PROFILES = "/var/lib/rawstack-symbolizer", "/var/lib/rawstack/spool", "/var/lib/rawstack/profiles"
FILES = [f"/etc/rawstack/{name}.conf" for name in ("sampler", "ship", "symbolizer")]


def samples_in(root, path):
    return int(re.search(r" in (\d+) samples$", succeed(root, f"rawstack top {path}"), re.M)[1])


def use_old(root):
    """Version 0.1 has a table in its store, and samples in its spool."""
    succeed(root, "apt-get install ./old/rawstack_*.deb")
    # As systemd makes them for a user of DynamicUser=.
    succeed(root, "mkdir -p -m 700 /var/lib/private/rawstack /var/lib/private/rawstack-symbolizer && "
            "ln -s private/rawstack private/rawstack-symbolizer /var/lib")
    with root.running(f"rawstack-symbolizer --data {STORE} --listen 127.0.0.1:7077", "old.log", CLONE) as service:
        wait_until(root, "rawstack ls", "", [service])
        succeed(root, "rawstack push build/myserver")
    assert service.returncode == 0, "version 0.1 did not end well"
    with root.running("build/myserver 3600", "load.log", CLONE):
        succeed(root, f"rawstack-sampler run --all --spool {SPOOL} --duration 5")
    return samples_in(root, SPOOL)


def deliver(root):
    """The service serves its old table, and the shipper delivers all that is spooled."""
    with started(root, "rawstack-symbolizer.service", "service.log") as service:
        wait_until(root, "rawstack ls", r"^[0-9a-f]{40} +ready", [service])
        with started(root, "rawstack-ship.service", "ship.log", "--once") as shipper:
            assert shipper.wait() == 0, "the shipper failed"
    assert service.returncode == 0, "the service did not end well"
    return samples_in(root, PROFILES)


def upgrade(root, old, folder):
    """`folder` has the packages of this version."""
    shutil.rmtree("newer", ignore_errors=True)
    make_newer(folder, "newer")
    os.makedirs(root.inside(CLONE + "/build"))
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-no-pie", "-Wl,--build-id=sha1", "-o",
                    root.inside(CLONE + "/build/myserver"), os.path.dirname(os.path.abspath(__file__)) + "/myserver.c"],
                   check=True)
    for name, made in (("new", folder), ("newer", "newer")):
        shutil.copytree(made, root.inside(f"{CLONE}/{name}"))
    os.makedirs(root.inside(CLONE + "/old"))
    shutil.copy(old, root.inside(CLONE + "/old"))
    spooled = use_old(root)
    succeed(root, "apt-get install ./new/rawstack*.deb")
    delivered = deliver(root)
    assert delivered == spooled, f"{delivered} samples of version 0.1 are delivered of {spooled}"
    succeed(root, r"rawstack top " + PROFILES + r" | grep 'serve_request .*myserver\.c:'")
    # What an administrator wrote stays: into these files, and beside them.
    for path in FILES:
        succeed(root, f"echo '# mine' >>{path}")
    succeed(root, "echo RAWSTACK_SHIP_KEEP_DAYS=7 >/etc/default/rawstack-ship")
    succeed(root, "apt-get install ./newer/rawstack*.deb")
    succeed(root, "dpkg-query -W -f '${Package} ${Version}\n' 'rawstack*' | grep -c ' 99$' | grep -qx 4")
    for path in FILES:
        succeed(root, f"tail -n 1 {path} | grep -qx '# mine'")
    succeed(root, "grep -qx RAWSTACK_SHIP_KEEP_DAYS=7 /etc/default/rawstack-ship")
    assert deliver(root) == spooled, "an upgrade loses profiles, or makes more of them"
    # Removing keeps all of it.
    succeed(root, "apt-get remove 'rawstack*'")
    succeed(root, " && ".join(f"[ -e {path} ]" for path in (*FILES, STORE, SPOOL, PROFILES)))
    check_purge(root)
