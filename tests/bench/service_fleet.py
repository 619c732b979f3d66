# SPDX-License-Identifier: Apache-2.0
"""Parts of tests/bench/service: what many hosts cost that connect with certificates, beside as many in plain
text. Certificates are of P-256, and each side shows one."""
import os
import re
import statistics
import subprocess
import sys
import urllib.request

import __main__ as bench  # whose parts these are

sys.path.insert(0, os.path.join(bench.HERE, "../e2e"))
import certificates  # noqa: E402

HOLDERS = 3         # processes that hold the connections
CONNECT_THREADS = 4
KINDS = ("plain", "mTLS")


class Fleet:
    """Certificates, the arguments of a service that asks for them, and the environment of its clients."""

    def __init__(self, folder):
        ca = certificates.Authority(os.path.join(folder, "ca"), "Fleet CA")
        server = ca.issue("server", "DNS:localhost,IP:127.0.0.1")
        host = ca.issue("host", "URI:spiffe://fleet.example/host/a")
        self.arguments = {"plain": [], "mTLS": ["--tls-cert", server[0], "--tls-key", server[1],
                                                "--tls-client-ca", ca.path]}
        self.environment = {"plain": {}, "mTLS": {"RAWSTACK_CA": ca.path, "RAWSTACK_CERT": host[0],
                                                  "RAWSTACK_KEY": host[1]}}

    def load(self, kind, *args):
        done = subprocess.run([bench.LOAD, *map(str, args)], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **self.environment[kind]})
        if done.returncode:
            sys.exit(f"bench: service_load {args[0]} failed")
        return {key: found[0] for key, found in bench.values(done.stdout).items()}

    def service(self, kind, folder):
        return bench.Service(folder, *self.arguments[kind], "--http", "127.0.0.1:0", "--http-port-file",
                             os.path.join(folder, "http"))

    def hold(self, kind, address, count):
        """Processes that have so many connections, each of which has had an answer."""
        shares = [count // HOLDERS + (n < count % HOLDERS) for n in range(HOLDERS)]
        held = [subprocess.Popen([bench.LOAD, "hold", address, str(share)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env={**os.environ, **self.environment[kind]})
                for share in shares]
        for process in held:
            if not process.stdout.readline():
                sys.exit("bench: the connections are not held")
        return held


def release(held):
    for process in held:
        process.stdin.close()
        process.wait()


def private(service):
    """MB of memory that is the service's alone: (with the pages of its tables, without)."""
    with open(f"/proc/{service.process.pid}/smaps_rollup", encoding="ascii") as f:
        kb = {key: int(n) for key, n in re.findall(r"^(\w+): +(\d+) kB$", f.read(), re.M)}
    return (kb["Private_Clean"] + kb["Private_Dirty"]) / 1024, kb["Anonymous"] / 1024


def counted(folder):
    """Connections that the service has, by its own count."""
    with open(os.path.join(folder, "http"), encoding="ascii") as f:
        port = int(f.read())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as reply:
        return int(float(re.search(r"^rawstack_connections (\S+)$", reply.read().decode(), re.M)[1]))


def connections(args, folder):
    """Private memory with many connections; before and after lookups over all tables."""
    fleet = Fleet(folder)
    service = bench.Service(folder, "--builds", "2")
    ids = bench.push_tables(args.tables, service, folder)
    service.stop()
    rows = {}
    for _ in range(args.rounds):
        for count in (args.connections, 3 * args.connections):
            for kind in KINDS:
                service = fleet.service(kind, folder)
                held = fleet.hold(kind, service.address, count)
                if counted(folder) < count:
                    sys.exit(f"bench: {counted(folder)} of {count} connections stand")
                rows.setdefault((count, kind, "held"), []).append(private(service))
                fleet.load(kind, "storm", service.address, args.seconds, args.threads, *ids)
                rows.setdefault((count, kind, "after lookups"), []).append(private(service))
                release(held)
                service.stop()
    print(f"| private memory, {args.tables} tables | MB | without pages of tables |\n|---|---:|---:|")
    for (count, kind, when), seen in rows.items():
        print(f"| {count:,} connections, {kind}, {when} | {bench.show([s[0] for s in seen], 1)} | "
              f"{bench.show([s[1] for s in seen], 1)} |")
    print()
    for count, wanted in ((args.connections, 180), (3 * args.connections, 500)):
        for when in ("held", "after lookups"):
            seen = [s[0] for s in rows[count, "mTLS", when]]
            bench.target(f"private MB, {count:,} mTLS connections, {when}", bench.show(seen, 1),
                         f"at most {wanted}", statistics.median(seen) <= wanted)


def tls(args, folder, table):
    """Rates of handshakes and of lookups, in plain text and with certificates in turn."""
    fleet = Fleet(folder)
    made, costs, rates, cpu = ({kind: [] for kind in KINDS} for _ in range(4))
    for _ in range(args.rounds):
        for kind in KINDS:
            service = fleet.service(kind, folder)
            fleet.load(kind, "lookup", service.address, table, 1, args.threads)  # names that are kept
            before = service.cpu_seconds()
            got = fleet.load(kind, "lookup", service.address, table, args.seconds, args.threads)
            rates[kind].append(got["addresses_per_s"])
            cpu[kind].append(1e6 * (service.cpu_seconds() - before) / got["batches"])
            before = service.cpu_seconds()
            got = fleet.load(kind, "connect", service.address, args.seconds, CONNECT_THREADS)
            made[kind].append(got["connections"] / got["seconds"])
            costs[kind].append((service.cpu_seconds() - before) / got["connections"])
            service.stop()
    print("| | plain | mTLS |\n|---|---:|---:|")
    for what, row, digits, scale in (
            (f"addresses per second, {args.threads} connections", rates, 0, 1),
            ("the service's CPU time of a batch, ms", cpu, 2, 1000),
            (f"connections with one call each per second, {CONNECT_THREADS} at a time", made, 0, 1),
            ("the service's CPU time of such a connection, ms", costs, 2, 0.001)):
        print(f"| {what} | {bench.show(row['plain'], digits, scale)} | {bench.show(row['mTLS'], digits, scale)} |")
    share = statistics.median(rates["mTLS"]) / statistics.median(rates["plain"])
    a_core = 1 / statistics.median(costs["mTLS"])
    print(f"\nA core of the service makes {a_core:,.0f} connections with mTLS per second, with a call each.\n")
    bench.target("addresses per second with mTLS, of the plain rate", f"{share:.2f}", "at least 0.67", share >= 2 / 3)
