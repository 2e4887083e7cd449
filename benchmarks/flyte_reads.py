"""`python -m benchmarks.flyte_reads`: reads of Flyte's HTTP clients beside a FlyteAdmin, one client for both.

FLYTEADMIN_URL names a FlyteAdmin 1.16.8 on this machine, without authentication, with a database of its own,
such as http://127.0.0.1:8088. Without it only our own figures are made. It builds with Go from its public
repository, and starts with the kubeconfig of any server. Needs Go for the client. Servers, databases and
client share all cores. A run registers a project with a name of its own there, and leaves it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import rounds, table
from benchmarks.load import Measured
from benchmarks.machine import CPUS, description
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row

URL = os.environ.get("FLYTEADMIN_URL", "")
CONNECTIONS = 16
_CLIENT = Path(__file__).parent / "wire_client"
_WORKFLOWS = 8
# What FlyteAdmin looks up for an execution, with a value of each.
_MATCHING = {
    "TASK_RESOURCE": {"taskResourceAttributes": {"defaults": {"cpu": "1"}, "limits": {"cpu": "2"}}},
    "CLUSTER_RESOURCE": {"clusterResourceAttributes": {"attributes": {"projectQuotaCpu": "10"}}},
    "EXECUTION_QUEUE": {"executionQueueAttributes": {"tags": ["critical"]}},
    "EXECUTION_CLUSTER_LABEL": {"executionClusterLabel": {"value": "east"}},
    "PLUGIN_OVERRIDE": {"pluginOverrides": {"overrides": [{"taskType": "spark", "pluginId": ["x"]}]}},
    "WORKFLOW_EXECUTION_CONFIG": {"workflowExecutionConfig": {"maxParallelism": 5}},
    "CLUSTER_ASSIGNMENT": {"clusterAssignment": {"clusterPoolName": "east"}},
}
_READS = len(_MATCHING)


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that has Flyte's paths. web, database: processes of ours."""

    name: str
    host: str
    port: int
    token: str = ""
    web: tuple[int, ...] = ()
    database: tuple[int, ...] = ()

    def request(self, path: str) -> bytes:
        head = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return f"GET /api/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode()

    def fill(self, project: str) -> None:
        """Register the project, and set every type for one of its domains. Raises RuntimeError."""
        self._send("POST", "projects", {"project": {"id": project, "name": project}})
        for matching in _MATCHING.values():
            ids = {"project": project, "domain": "development"}
            attributes = {"attributes": {**ids, "matchingAttributes": matching}}
            self._send("PUT", f"project_domain_attributes/{project}/development", attributes)

    def _send(self, method: str, path: str, document: object) -> None:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection.request(method, f"/api/v1/{path}", json.dumps(document), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(
                f"{self.name} answered {method} {path} with {answer.status}: {answer.read()!r}"
            )
        connection.close()


@dataclass(frozen=True, slots=True)
class Bench:
    running: Stage
    client: Path
    project: str

    def contender(self, name: str, peer: Peer, paths: Sequence[str], status: int = 200) -> Contender:
        requests = [peer.request(path) for path in paths]
        contender = Contender(name, peer.port, requests, CONNECTIONS, peer.web, peer.database)
        file = self.running.folder / f"{secrets.token_hex(4)}.requests"
        file.write_bytes(b"".join(b"%d\n%b" % (len(request), request) for request in requests))

        def drive(seconds: float, warm_up: float) -> Measured:
            limits = ("-seconds", str(seconds), "-warm-up", str(warm_up), "-status", str(status))
            whole = (str(self.client), "-address", f"{peer.host}:{peer.port}", "-requests", str(file))
            command = (*whole, *limits, "-connections", str(CONNECTIONS))
            output = subprocess.run(command, check=True, capture_output=True, timeout=seconds + warm_up + 30)
            return Measured(**json.loads(output.stdout))

        contender.drive = drive
        return contender

    def lookups(self) -> list[str]:
        """The reads of executions, one for each type and workflow."""
        return [
            f"workflow_attributes/{self.project}/development/w{number}?resource_type={kind}"
            for number in range(_WORKFLOWS)
            for kind in _MATCHING
        ]

    def effective(self) -> list[str]:
        place = f"project={self.project}&domain=development"
        return [
            f"overrides/effective?{place}&workflow=w{number}&strategy=flyte" for number in range(_WORKFLOWS)
        ]


def main() -> int:
    options = _options()
    if not URL:
        print(f"FLYTEADMIN_URL is not set, so there is no comparison. {__doc__.partition('.')[2].strip()}")
    with stage(processors=CPUS) as running:
        client = running.folder / "wire_client"
        subprocess.run(["go", "build", "-o", str(client), "."], cwd=_CLIENT, check=True)
        server = running.serve("ours", "controlplane.asgi:application", workers=options.workers)
        bench = Bench(running, client, f"bench-{secrets.token_hex(4)}")
        rows = _rows(bench, _ours(running, server), options)
    text = table.markdown(rows)
    print(f"{description()}, {CONNECTIONS} connections.\n{text}")
    if options.write:
        table.write(text, part="flyte reads")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1, help="web workers of our server")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each contender in each round")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _ours(running: Stage, server: Server) -> Peer:
    token = running.administrator()
    return Peer("ours", "127.0.0.1", server.port, token, (server.process.pid,), (running.postgres,))


def _rows(bench: Bench, ours: Peer, options: argparse.Namespace) -> list[Row]:
    ours.fill(bench.project)
    contenders = [
        bench.contender("Flyte's reads of an execution, each by itself", ours, bench.lookups()),
        bench.contender("effective?strategy=flyte, all of them at once", ours, bench.effective()),
    ]
    if URL:
        address = urlsplit(URL)
        theirs = Peer("FlyteAdmin", address.hostname or "", address.port or 80)
        theirs.fill(bench.project)
        contenders.append(bench.contender("the same reads of a FlyteAdmin 1.16.8", theirs, bench.lookups()))
    rounds.play(contenders, rounds=options.rounds, seconds=options.seconds)
    rows = [_row(contender) for contender in contenders]
    if URL:
        lookups, effective, theirs_lookups = contenders
        rows[0].ratio, rows[0].target = f"{rounds.ratio(lookups, theirs_lookups):.1f} x", ">= 2 x FlyteAdmin"
        once = rounds.ratio(effective, theirs_lookups) * _READS
        rows[1].ratio, rows[1].target = f"{once:.0f} x", f">= 20 x its {_READS} reads"
    return rows


def _row(contender: Contender) -> Row:
    measured = rounds.merged(contender)
    web, database = rounds.processor(contender)
    return Row(
        contender.name,
        f"{rounds.rate(contender):,.0f}",
        f"{measured.percentile(0.5):.1f}",
        f"{measured.percentile(0.99):.1f}",
        f"{web:.0f} + {database:.0f}" if contender.web else "",
        f"{measured.errors}",
    )


if __name__ == "__main__":
    sys.exit(main())
