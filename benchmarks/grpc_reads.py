"""`python -m benchmarks.grpc_reads`: Flyte's reads over gRPC beside the ordinary path, grpcio and FlyteAdmin.

Needs Go for the client. `FLYTEADMIN_GRPC` names the gRPC port of a FlyteAdmin 1.16.8 without authentication,
such as `127.0.0.1:8089`, and `FLYTEADMIN_PIDS` its processes, for their processor time. The benchmark writes
to its project `flytesnacks`.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import grpc
from flyteidl.admin import project_domain_attributes_pb2 as pd
from flyteidl.admin import project_pb2
from flyteidl.service.admin_pb2_grpc import AdminServiceStub

from benchmarks import machine, table
from benchmarks.stage import ROOT, Stage, stage
from benchmarks.table import Row
from controlplane.local.programs import free_port

_SERVICE = "/flyteidl.service.AdminService"
_CLIENT = Path(__file__).parent / "grpc_client"
_QUESTION = pd.ProjectDomainAttributesGetRequest(
    project="flytesnacks", domain="development", resource_type="EXECUTION_CLUSTER_LABEL"
)
_WARM_UP_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Measured:
    rate: float
    errors: int
    p50: float
    p99: float
    cpu: float
    database: float


@dataclass(slots=True)
class Contender:
    """processes: of the server. database: of its Postgres, if that is ours."""

    name: str
    address: str
    processes: tuple[int, ...]
    database: tuple[int, ...] = ()
    token: str = ""
    call: str = "GetProjectDomainAttributes"
    message: bytes = b""
    results: list[Measured] = field(default_factory=list)

    def measure(self, client: Path, connections: int, seconds: float) -> Measured:
        before = machine.seconds_of(self.processes), machine.seconds_of(self.database)
        words = [client, "-address", self.address, "-method", f"{_SERVICE}/{self.call}"]
        words += ["-message", self.message.hex(), "-token", self.token]
        words += ["-connections", str(connections), "-seconds", str(seconds)]
        output = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        after = machine.seconds_of(self.processes), machine.seconds_of(self.database)
        done, failed, p50, p99 = (float(word) for word in output.split())
        web, database = (
            1e6 * (late - early) / max(done, 1) for late, early in zip(after, before, strict=True)
        )
        return Measured(done / seconds, int(failed), p50, p99, web, database)


def main() -> int:
    options = _options()
    print(machine.description(), flush=True)
    with stage(processors=machine.CPUS) as running:
        client = running.folder / "client"
        subprocess.run(["go", "build", "-o", client, "."], cwd=_CLIENT, check=True)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            contenders = _contenders(running, processes)
            rows = [
                row for number in options.connections for row in _rows(contenders, client, number, options)
            ]
        finally:
            for process in processes:
                process.terminate()
                process.wait()
    text = f"{machine.description()}.\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, part="grpc reads")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--connections", type=int, nargs="*", default=[16, 64])
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _contenders(running: Stage, processes: list[subprocess.Popen[bytes]]) -> list[Contender]:
    token, message = running.administrator(), _QUESTION.SerializeToString()
    database = (running.postgres,)
    ours = serve_ours(running, processes)
    ordinary = serve_ours(running, processes, EFFECTIVE_SNAPSHOT_MIB="0")
    _prepare(ours.address, token)
    contenders = [
        Contender("ready answers", ours.address, ours.processes, database, token, message=message),
        Contender("ordinary path", ordinary.address, ordinary.processes, database, token, message=message),
        Contender(
            "ready answers of all projects", ours.address, ours.processes, database, token, "ListProjects"
        ),
        *(_empty(kind, processes) for kind in ("threads", "asyncio")),
    ]
    if address := os.environ.get("FLYTEADMIN_GRPC"):
        _prepare(address, "")
        pids = tuple(int(pid) for pid in os.environ.get("FLYTEADMIN_PIDS", "").split())
        contenders.append(Contender("FlyteAdmin", address, pids, message=message))
    return contenders


def serve_ours(running: Stage, processes: list[subprocess.Popen[bytes]], **more: str) -> Contender:
    port = free_port()
    environment = {**running.environment, "FLYTE_GRPC_PORT": str(port), **more}
    command = [sys.executable, "manage.py", "flyte_grpc"]
    return _started(command, port, environment, processes)


def _empty(kind: str, processes: list[subprocess.Popen[bytes]]) -> Contender:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.peers.empty_grpc", str(port), kind]
    contender = _started(command, port, dict(os.environ), processes)
    contender.name = f"grpcio, {kind}, empty answer"
    return contender


def _started(
    command: list[str], port: int, environment: dict[str, str], processes: list[subprocess.Popen[bytes]]
) -> Contender:
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    processes.append(process)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return Contender("", f"127.0.0.1:{port}", (process.pid,))
        time.sleep(0.1)
    raise RuntimeError(f"{' '.join(command)} does not listen on port {port}.")


def _prepare(address: str, token: str) -> None:
    """Register the project and set its attributes."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(address) as channel:
        stub = AdminServiceStub(channel)
        project = project_pb2.Project(id="flytesnacks", name="flytesnacks")
        try:
            stub.RegisterProject(project_pb2.ProjectRegisterRequest(project=project), metadata=metadata)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
                raise
        update = pd.ProjectDomainAttributesUpdateRequest()
        update.attributes.project, update.attributes.domain = _QUESTION.project, _QUESTION.domain
        update.attributes.matching_attributes.execution_cluster_label.value = "gpu"
        stub.UpdateProjectDomainAttributes(update, metadata=metadata)


def _rows(
    contenders: list[Contender], client: Path, connections: int, options: argparse.Namespace
) -> list[Row]:
    """Play interleaved rounds; ratios are medians of ratios within one round."""
    for contender in contenders:
        contender.results = []
        contender.measure(client, connections, _WARM_UP_SECONDS)
    for _ in range(options.rounds):
        for contender in contenders:
            contender.results.append(contender.measure(client, connections, options.seconds))
    return [_row(contender, contenders, connections) for contender in contenders]


def _row(contender: Contender, contenders: list[Contender], connections: int) -> Row:
    results = contender.results
    peer = next((each for each in contenders if each.name == "FlyteAdmin"), None)
    ratio = ""
    if peer is not None and peer is not contender:
        pairs = zip(results, peer.results, strict=True)
        ratio = f"{median(own.rate / other.rate for own, other in pairs):.2f} of FlyteAdmin"
    cpu, database = (median(getattr(each, part) for each in results) for part in ("cpu", "database"))
    return Row(
        f"{contender.call}, {contender.name}, {connections} connections",
        f"{median(each.rate for each in results):,.0f}",
        f"{median(each.p50 for each in results):.1f}",
        f"{median(each.p99 for each in results):.1f}",
        f"{cpu:.0f} + {database:.0f}" if contender.processes else "",
        str(sum(each.errors for each in results)),
        ratio,
        ">= 1.0 of FlyteAdmin" if contender.name == "ready answers" else "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
