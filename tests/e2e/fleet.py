# SPDX-License-Identifier: Apache-2.0
"""Machines that are apart: each is a network and a mount namespace of its own, with one link to a switch
that is another. They end with the test."""
import os
import shutil
import subprocess

from sampler_common import output, skip, wait_for

PREFIX = "10.77.0."


def need_namespaces():
    if os.geteuid():
        skip("needs user 0 for namespaces of its own")
    for program in ("ip", "tc", "nsenter", "unshare"):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    if subprocess.run(["unshare", "--net", "--mount", "ip", "link", "add", "type", "veth"],
                      capture_output=True, check=False).returncode:
        skip("no pairs of virtual links can be made here")


class Namespace:
    """It lives as long as the process that holds it."""

    def __init__(self):
        mine = os.readlink("/proc/self/ns/net")
        self.holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount",
                                        "sleep", "3600"])
        self.pid = self.holder.pid
        wait_for(lambda: os.readlink(f"/proc/{self.pid}/ns/net") != mine and
                 os.readlink(f"/proc/{self.pid}/exe").endswith("/sleep"), "no namespace")
        self.prefix = ["nsenter", "-t", str(self.pid), "--net", "--mount", "--wdns=" + os.getcwd()]
        self.ip("link", "set", "lo", "up")

    def run(self, *command):
        return output(*self.prefix, *command)

    def ip(self, *args):
        return self.run("ip", *args)

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Machine(Namespace):
    """number: the last byte of its address."""

    def __init__(self, switch, name, number):
        super().__init__()
        self.name, self.switch, self.port = name, switch, f"to-{name}"
        switch.ip("link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
        switch.ip("link", "set", self.port, "master", "br0")
        switch.ip("link", "set", self.port, "up")
        self.ip("link", "set", "eth0", "up")
        self.add_address(number)
        # Written in place afterwards: what is mounted is the file, not its name.
        self.hosts = os.path.abspath(f"hosts-{name}")
        self.name_address({})
        self.run("mount", "--bind", self.hosts, "/etc/hosts")

    def add_address(self, number):
        self.ip("address", "add", f"{PREFIX}{number}/24", "dev", "eth0")

    def name_address(self, names):
        """names: the last byte of each one's address."""
        with open(self.hosts, "w", encoding="ascii") as f:
            f.write("127.0.0.1 localhost\n")
            f.writelines(f"{PREFIX}{number} {name}\n" for name, number in names.items())

    def cut(self):
        self.switch.ip("link", "set", self.port, "down")

    def mend(self):
        self.switch.ip("link", "set", self.port, "up")

    def slow(self, kbit):
        """Both ways."""
        for run, link in ((self.run, "eth0"), (self.switch.run, self.port)):
            run("tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", f"{kbit}kbit", "burst", "4kb",
                "latency", "200ms")

    def quicken(self):
        for run, link in ((self.run, "eth0"), (self.switch.run, self.port)):
            run("tc", "qdisc", "del", "dev", link, "root")


class Switch(Namespace):
    def __init__(self):
        super().__init__()
        self.ip("link", "add", "br0", "type", "bridge")
        self.ip("link", "set", "br0", "up")
