"""`python -m benchmarks.flyte_events`: events of Flyte's engine, to us alone, through us, and to FlyteAdmin.

`FLYTEADMIN_URL`, `FLYTEADMIN_GRPC` and `FLYTEADMIN_DATABASE` name a FlyteAdmin 1.16.8 without authentication:
its HTTP address, its gRPC port such as `127.0.0.1:8089`, and its database, into which executions are put.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from statistics import median, quantiles
from typing import Any

import grpc
import psycopg
from flyteidl.admin import event_pb2, execution_pb2
from flyteidl.service.admin_pb2_grpc import AdminServiceStub

from benchmarks import machine, table
from benchmarks.grpc_reads import serve_ours
from benchmarks.stage import stage
from benchmarks.table import Row

_EXECUTION = ("flytesnacks", "development")
_NODES = 5


@dataclass(slots=True)
class Contender:
    """name: of the way. processes: of our server. milliseconds: of each event, in each round."""

    name: str
    stub: AdminServiceStub
    processes: tuple[int, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    rounds: list[list[float]] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def play(self, names: list[str], engines: int) -> None:
        """Send the events of executions: each execution's one after the other, as the engine does."""
        before, began = machine.seconds_of(self.processes), time.perf_counter()
        with ThreadPoolExecutor(engines) as pool:
            times = list(chain.from_iterable(pool.map(self._execution, names)))
        self.seconds.append(time.perf_counter() - began)
        self.cpu.append(1e6 * (machine.seconds_of(self.processes) - before) / len(times))
        self.rounds.append(times)

    def _execution(self, name: str) -> list[float]:
        times = []
        for call, request in _events(name):
            began = time.perf_counter()
            getattr(self.stub, call)(request, metadata=self.metadata)
            times.append(1000 * (time.perf_counter() - began))
        return times


def main() -> int:
    options = _options()
    print(machine.description(), flush=True)
    with stage(processors=machine.CPUS) as running, ExitStack() as stack:
        processes: list[subprocess.Popen[bytes]] = []
        stack.callback(lambda: [process.terminate() for process in processes])
        metadata = (("authorization", f"Bearer {running.administrator()}"),)
        relay = {"FLYTE_EVENTS": "relay", "FLYTE_ADMIN_URL": os.environ["FLYTEADMIN_URL"]}
        ways = [("to us alone", {"FLYTE_EVENTS": "store"}), ("through us to FlyteAdmin", relay)]
        contenders = []
        for name, settings in ways:
            served = serve_ours(running, processes, **settings)
            stub = _stub(stack, served.address)
            contenders.append(Contender(name, stub, served.processes, metadata))
        contenders.append(Contender("to FlyteAdmin", _stub(stack, os.environ["FLYTEADMIN_GRPC"])))
        for number in range(options.rounds + 1):
            for contender in contenders:
                contender.play(_new_executions(options.executions), options.engines)
            if number == 0:  # to warm up
                for contender in contenders:
                    contender.rounds, contender.cpu, contender.seconds = [], [], []
    rows = [_row(contender, contenders, options) for contender in contenders]
    text = f"{machine.description()}.\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, part="flyte events")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--executions", type=int, default=20, help="in each round")
    parser.add_argument("--engines", type=int, default=4, help="executions at a time")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _stub(stack: ExitStack, address: str) -> AdminServiceStub:
    return AdminServiceStub(stack.enter_context(grpc.insecure_channel(address)))


def _events(name: str) -> Iterator[tuple[str, Any]]:
    """Return the events of an execution with a few nodes, each of which runs one task."""
    yield "CreateWorkflowEvent", _workflow(name, "RUNNING")
    for number in range(_NODES):
        for phase in ("QUEUED", "RUNNING"):
            yield "CreateNodeEvent", _node(name, f"n{number}", phase)
        for phase in ("QUEUED", "RUNNING", "SUCCEEDED"):
            yield "CreateTaskEvent", _task(name, f"n{number}", phase)
        yield "CreateNodeEvent", _node(name, f"n{number}", "SUCCEEDED")
    yield "CreateWorkflowEvent", _workflow(name, "SUCCEEDED")


def _workflow(name: str, phase: str) -> Any:
    request = event_pb2.WorkflowExecutionEventRequest(request_id=f"{name}-{phase}")
    _set_execution(request.event.execution_id, name)
    request.event.phase = (
        request.event.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_name[phase].number
    )
    request.event.occurred_at.GetCurrentTime()
    return request


def _node(name: str, node: str, phase: str) -> Any:
    request = event_pb2.NodeExecutionEventRequest(request_id=f"{name}-{node}-{phase}")
    request.event.id.node_id = node
    _set_execution(request.event.id.execution_id, name)
    request.event.phase = (
        request.event.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_name[phase].number
    )
    request.event.occurred_at.GetCurrentTime()
    return request


def _task(name: str, node: str, phase: str) -> Any:
    request = event_pb2.TaskExecutionEventRequest(request_id=f"{name}-{node}-t-{phase}")
    event = request.event
    event.task_id.resource_type, event.task_id.name, event.task_id.version = 1, "t", "v1"
    event.task_id.project, event.task_id.domain = _EXECUTION
    event.parent_node_execution_id.node_id = node
    _set_execution(event.parent_node_execution_id.execution_id, name)
    event.phase = event.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_name[phase].number
    event.occurred_at.GetCurrentTime()
    return request


def _set_execution(ids: Any, name: str) -> None:
    (ids.project, ids.domain), ids.name = _EXECUTION, name


def _new_executions(number: int) -> list[str]:
    """Put executions into FlyteAdmin's database; return their names."""
    spec, closure = execution_pb2.ExecutionSpec(), execution_pb2.ExecutionClosure()
    closure.created_at.GetCurrentTime()
    closure.workflow_id.name = "w"
    names = [f"b{time.monotonic_ns():x}{index}" for index in range(number)]
    with psycopg.connect(os.environ["FLYTEADMIN_DATABASE"], autocommit=True) as connection:
        connection.cursor().executemany(
            "INSERT INTO executions (execution_project, execution_domain, execution_name, phase, closure,"
            " spec, created_at, updated_at, execution_created_at, execution_updated_at, state, cluster)"
            " VALUES (%s, %s, %s, 'UNDEFINED', %s, %s, now(), now(), now(), now(), 0, '')",
            [(*_EXECUTION, name, closure.SerializeToString(), spec.SerializeToString()) for name in names],
        )
    return names


def _row(contender: Contender, contenders: list[Contender], options: argparse.Namespace) -> Row:
    peer = contenders[-1]
    rows = [quantiles(times, n=100, method="inclusive") for times in contender.rounds]
    target, ratio = "", ""
    if contender is not peer:
        pairs = zip(contender.rounds, peer.rounds, strict=True)
        ratio = f"{median(median(own) / median(other) for own, other in pairs):.2f} of FlyteAdmin's median"
    if contender.name.startswith("through"):
        theirs = [quantiles(times, n=100, method="inclusive")[98] for times in peer.rounds]
        more = median(own[98] - other for own, other in zip(rows, theirs, strict=True))
        target = f"p99 {more:+.1f} ms of 10 ms"
    count = len(contender.rounds[0])
    return Row(
        f"Events {contender.name}, {options.engines} executions at a time",
        f"{median(count / seconds for seconds in contender.seconds):,.0f}",
        f"{median(row[49] for row in rows):.1f}",
        f"{median(row[98] for row in rows):.1f}",
        f"{median(contender.cpu):,.0f}" if contender.processes else "",
        "0",
        ratio,
        target,
    )


if __name__ == "__main__":
    sys.exit(main())
