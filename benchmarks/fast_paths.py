"""`python -m benchmarks.fast_paths`: fast paths beside etcd, granian and an empty answer, one client for all.

Needs Go for the client, and etcd's server (Debian's package etcd-server): its path in ETCD, or on the PATH.
Servers, databases and client share all cores, as a small installation does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import django

from benchmarks import fleet, rounds, table
from benchmarks.load import Measured
from benchmarks.machine import CPUS, description, family, memory_of, processes
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row
from controlplane.local.programs import free_port

_ENVIRONMENT = {"FLEET_GUARD_PERCENT": "101", "LEASE_SECONDS": "86400", "HEARTBEATS_PER_SECOND": "1000000"}
_CLIENT = Path(__file__).parent / "wire_client"
_READ = "/api/v1/overrides/effective?project=flytesnacks&domain=development"
_PLANE = "/api/v1/data-planes/eu"
_TARGET_ETCD = {256: ">= 1.0 x etcd", 32: ">= 1.2 x etcd"}


@dataclass(slots=True)
class Bench:
    running: Stage
    client: Path
    token: str
    beating: Sequence[bytes]
    options: argparse.Namespace

    def contender(
        self, name: str, server: Server, requests: Sequence[bytes], connections: int, *, status: int = 200
    ) -> Contender:
        """Return a contender whose every answer must have this status."""
        contender = Contender(name, server.port, requests, connections, (server.process.pid,))
        contender.database = (self.running.postgres,)
        file = self.running.folder / f"{server.name}-{len(requests)}.requests"
        file.write_bytes(b"".join(b"%d\n%b" % (len(request), request) for request in requests))
        words = ("-requests", str(file), "-status", str(status))
        contender.drive = self._client(server.port, connections, *words)
        return contender

    def etcd(self, server: Server, connections: int) -> Contender:
        contender = Contender("etcd, put", server.port, (), connections, (server.process.pid,))
        contender.drive = self._client(server.port, connections, "-mode", "etcd")
        return contender

    def _client(self, port: int, connections: int, *words: str) -> Callable[[float, float], Measured]:
        def drive(seconds: float, warm_up: float) -> Measured:
            limits = ("-seconds", str(seconds), "-warm-up", str(warm_up))
            whole = (str(self.client), *words, "-address", f"127.0.0.1:{port}", *limits)
            command = (*whole, "-connections", str(connections))
            output = subprocess.run(command, check=True, capture_output=True, timeout=seconds + warm_up + 30)
            return Measured(**json.loads(output.stdout))

        return drive


def main() -> int:
    options = _options()
    print(f"{description()}. Loading {options.agents:,} agents ...", flush=True)
    with stage(_ENVIRONMENT, processors=CPUS) as running:
        os.environ.update(running.environment)
        django.setup()
        client = running.folder / "wire_client"
        subprocess.run(["go", "build", "-o", str(client), "."], cwd=_CLIENT, check=True)
        agents = fleet.load(running.environment["DATABASE_URL"], options.agents, options.agents)
        requests = [agent.request() for agent in agents]
        running.manage("seed_demo")
        bench = Bench(running, client, running.administrator(), requests, options)
        rows: list[Row] = []
        for name in options.only or _PARTS:
            print(f"{name} ...", flush=True)
            rows += _PARTS[name](bench)
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options)}\n\n{text}", part="fast paths")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1, help="web workers of each server")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each contender in each round")
    parser.add_argument("--only", nargs="*", choices=list(_PARTS), help="parts to run; all by default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def heartbeats(bench: Bench) -> list[Row]:
    """Durable heartbeats beside durable puts."""
    workers = bench.options.workers
    ours = bench.running.serve("ours", "controlplane.asgi:application", workers=workers)
    before = bench.running.serve_by_granian("granian", "controlplane.asgi:application", workers=workers)
    etcd = _serve_etcd(bench.running)
    rows: list[Row] = []
    for connections in (256, 32):
        beats = bench.contender("heartbeats", ours, bench.beating, connections)
        old = bench.contender("heartbeats by granian and ASGI", before, bench.beating, connections)
        puts = bench.etcd(etcd, connections)
        rounds.play([beats, old, puts], rounds=bench.options.rounds, seconds=bench.options.seconds)
        rows += [_row(beats, puts, "etcd", _TARGET_ETCD[connections]), _row(old, puts, "etcd"), _row(puts)]
    return rows


def reads(bench: Bench) -> list[Row]:
    """Effective reads that are never stale, beside an empty answer on the same path."""
    workers = bench.options.workers
    ours = bench.running.serve("reads", "controlplane.asgi:application", workers=workers)
    before = bench.running.serve_by_granian("granian-reads", "controlplane.asgi:application", workers=workers)
    empty = bench.running.serve("empty", "benchmarks.peers.empty_fast:application", workers=workers)
    lines = f"Host: 127.0.0.1\r\nAuthorization: Bearer {bench.token}\r\n\r\n"
    requests = [f"GET {_READ} HTTP/1.1\r\n{lines}".encode()]
    rows: list[Row] = []
    for connections in (256, 32):
        warm = bench.contender("effective read, warm", ours, requests, connections)
        old = bench.contender("the same by granian and ASGI", before, requests, connections)
        bare = bench.contender("an empty answer on the fast path", empty, requests, connections, status=204)
        rounds.play([warm, old, bare], rounds=bench.options.rounds, seconds=bench.options.seconds)
        rows += [_row(warm, bare, "empty", ">= 0.6 of empty"), _row(old), _row(bare)]
        rows[-2].ratio = f"{1 / rounds.ratio(old, warm):.2f} x faster now"
        rows[-2].target = ">= 2.0 x"
    return rows


def polls(bench: Bench) -> list[Row]:
    """Polls of a data plane's principal that has the active configuration, beside Django's answer."""
    workers = bench.options.workers
    ours = bench.running.serve("polls", "controlplane.asgi:application", workers=workers)
    options = {"CONFIG_POLL_CONNECTIONS": "0"}
    ordinary = bench.running.serve("slow-polls", "controlplane.asgi:application", workers=workers, **options)
    etag = _new_configuration(bench, ours)
    lines = f"Host: 127.0.0.1\r\nAuthorization: Bearer {bench.token}\r\nIf-None-Match: {etag}\r\n\r\n"
    request = f"GET {_PLANE}/config HTTP/1.1\r\n{lines}".encode()
    rows: list[Row] = []
    for connections in (256, 32):
        fast = bench.contender("configuration poll, 304", ours, [request], connections, status=304)
        slow = bench.contender("the same by Django", ordinary, [request], connections, status=304)
        rounds.play([fast, slow], rounds=bench.options.rounds, seconds=bench.options.seconds)
        rows += [_row(fast, slow, "Django"), _row(slow)]
    return rows


def _new_configuration(bench: Bench, server: Server) -> str:
    """Create a data plane whose principal is the administrator; return its configuration's ETag."""

    def call(method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Authorization": f"Bearer {bench.token}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        return connection.getresponse()

    name = json.load(call("GET", "/api/v1/me"))["name"]
    call("PUT", _PLANE, json.dumps({"principal": name}).encode()).read()
    return call("GET", f"{_PLANE}/config").headers["ETag"]


def memory(bench: Bench) -> list[Row]:
    """Three workers and their parent, after requests of every kind."""
    ours = bench.running.serve("memory", "controlplane.asgi:application", workers=3)
    beats = bench.contender("heartbeats", ours, bench.beating, 64)
    rounds.play([beats], rounds=1, seconds=bench.options.seconds)
    resident = memory_of([ours.process.pid]) / 2**20
    proportional = _proportional(ours.process.pid) / 2**20
    name = "memory, 3 workers and parent: shared pages once (counted in each)"
    return [Row(name, f"{proportional:.0f} MiB ({resident:.0f})", target="<= 350 MiB")]


def _proportional(root: int) -> int:
    """Bytes of memory of a process and its children; pages that several share are counted once."""
    total = 0
    for process in family(root, processes()):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def _serve_etcd(running: Stage) -> Server:
    path = os.environ.get("ETCD") or shutil.which("etcd")
    if not path:
        raise SystemExit("etcd not found. Install Debian's etcd-server, or name the program in ETCD.")
    port, peers = free_port(), free_port()
    urls = (
        "--listen-client-urls",
        f"http://127.0.0.1:{port}",
        "--listen-peer-urls",
        f"http://127.0.0.1:{peers}",
    )
    where = (
        "--advertise-client-urls",
        f"http://127.0.0.1:{port}",
        "--data-dir",
        str(running.folder / "etcd"),
    )
    log = (running.folder / "etcd.log").open("wb")
    process = subprocess.Popen((path, *urls, *where), stdout=log, stderr=subprocess.STDOUT)
    server = Server("etcd", port, process)
    running.servers["etcd"] = server
    running.wait_for(server, "/health")
    return server


def _row(ours: Contender, peer: Contender | None = None, name: str = "", target: str = "") -> Row:
    whole = rounds.merged(ours)
    web, database = rounds.processor(ours)
    return Row(
        f"{ours.name}, {ours.connections} connections",
        f"{rounds.rate(ours):,.0f}",
        f"{whole.percentile(0.5):.1f}",
        f"{whole.percentile(0.99):.1f}",
        f"{web:.0f} + {database:.0f}" if ours.database else f"{web:.0f}",
        str(whole.errors),
        f"{rounds.ratio(ours, peer):.2f} x {name}" if peer else "",
        target,
    )


def _preface(options: argparse.Namespace) -> str:
    return (
        f"`make bench-fast-paths BENCH_ARGS=--write`. {description()}. {options.agents:,} agents,"
        f" {options.workers} web worker, {options.rounds} interleaved rounds of {options.seconds:g} s."
    )


_PARTS = {"heartbeats": heartbeats, "reads": reads, "polls": polls, "memory": memory}

if __name__ == "__main__":
    sys.exit(main())
