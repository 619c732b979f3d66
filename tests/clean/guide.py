#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""README's guide for one service and two hosts, with the certificates that symbolizer/CERTIFICATES.md makes;
`guide.py FOLDER` writes both into a folder: the certificates, and a file `lines` of HOST<tab>COMMAND."""
import contextlib
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from readme_commands import blocks_of  # noqa: E402
from steps import CLONE, shown, started, succeed, wait_until  # noqa: E402

SRC = os.environ.get("RAWSTACK_SRC", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# The name in the guide, and the address that the certificate has beside it.
SERVER, ADDRESS = "symbols.example.org", "10.0.0.7"
TLS = "/etc/rawstack/tls"


def guide_lines():
    """Each (host, command); what two hosts do stands there once."""
    block = next(b for b in blocks_of(SRC, "README.md") if any(line.startswith("symbols#") for line in b.lines))
    found = [re.fullmatch(r"(\S+)(?:, \S+)?# +(.*)", line) for line in block.lines]
    assert all(found) and len(found) == 10, block.lines
    return [found_line.groups() for found_line in found]


def make_certificates(folder):
    """server.pem, server.key, host.pem, host.key and ca.pem."""
    with open(SRC + "/symbolizer/CERTIFICATES.md", encoding="utf-8") as f:
        text = "\n".join(re.findall(r"^```sh\n(.*?)^```$", f.read(), re.M | re.S))
    lines = [line for line in text.replace("\\\n\t", "").splitlines()
             if re.match("openssl |chmod |printf .* >", line)]
    assert sum("openssl x509 -req" in line for line in lines) == 2, lines
    subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=folder, check=True, capture_output=True)
    for kind in ("pem", "key"):
        shutil.move(f"{folder}/web1.{kind}", f"{folder}/host.{kind}")


def follow_guide(root, folder):
    """In a root with the packages in `folder`, which has no systemd: a line that restarts a unit starts what
    the unit starts."""
    make_certificates(root.inside(folder))
    with open(root.inside("/etc/hosts"), "a", encoding="ascii") as f:
        f.write(f"{ADDRESS}\t{SERVER}\n")
    subprocess.run(["ip", "address", "add", ADDRESS + "/32", "dev", "lo"], check=True)
    call = f"--server {SERVER}:7077 --ca {TLS}/ca.pem --cert {TLS}/host.pem --key {TLS}/host.key"
    with contextlib.ExitStack() as stack:
        stack.enter_context(root.running("build/myserver 3600", "load.log", CLONE))
        children = []
        for host, line in guide_lines():
            restarted = re.fullmatch("systemctl daemon-reload && systemctl restart (rawstack-[a-z]+)", line)
            if not restarted:
                succeed(root, line, folder)
                continue
            print(f"+ {host}# {line}, by hand")
            log = f"{restarted[1]}.log"
            children.append(stack.enter_context(started(root, restarted[1] + ".service", log)))
            if host == "symbols":
                # The guide's host has its certificate; the service's own machine has none of a client.
                succeed(root, f"install -m 600 -t {TLS} host.pem host.key", folder)
                wait_until(root, f"rawstack ls {call}", "", children)
        assert len(children) == 2, "the guide starts a service and a shipper"
        status, text = root.run(f"rawstack ls --server {SERVER}:7077", CLONE)
        shown("rawstack ls, in plain text", status, text)
        assert status, "the guide's service answers in plain text"
        status, text = root.run(f"rawstack ls --server {SERVER}:7077 --ca {TLS}/ca.pem", CLONE)
        shown("rawstack ls, without a certificate", status, text)
        assert status, "the guide's service answers who has no certificate"
        succeed(root, f"rawstack push {call} build/myserver")
        with started(root, "rawstack-sampler.service", "sampler.log", "--duration 5") as sampler:
            assert sampler.wait() == 0, "the sampler failed"
        wait_until(root, "rawstack top /var/lib/rawstack/profiles", r"serve_request\s.*myserver\.c:\d+", children)
    for name in ("rawstack-symbolizer.service.d", "rawstack-ship.service.d"):
        shutil.rmtree(root.inside("/etc/systemd/system/" + name))
    for path in ("/etc/rawstack/tls", "/run/credentials"):
        shutil.rmtree(root.inside(path))


if __name__ == "__main__":
    make_certificates(sys.argv[1])
    with open(sys.argv[1] + "/lines", "w", encoding="ascii") as f:
        f.writelines(f"{host}\t{line}\n" for host, line in guide_lines())
