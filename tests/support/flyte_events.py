"""Events of Flyte's engine, and a FlyteAdmin on a loopback port that answers as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flyteidl.admin import event_pb2, execution_pb2
from flyteidl.core import execution_pb2 as core
from flyteidl.core import identifier_pb2 as ids
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

PROTOBUF = "application/octet-stream"
PATHS = {"workflow": "events/workflows", "node": "events/nodes", "task": "events/tasks"}
_SECONDS = 1_795_426_200


def execution_id(name: str = "e1", project: str = "flytesnacks") -> Any:
    return ids.WorkflowExecutionIdentifier(project=project, domain="development", name=name)


def workflow_event(phase: str, name: str = "e1", **more: Any) -> Any:
    request = event_pb2.WorkflowExecutionEventRequest(request_id="r")
    request.event.execution_id.CopyFrom(execution_id(name))
    request.event.phase = core.WorkflowExecution.Phase.Value(phase)
    request.event.occurred_at.seconds = _SECONDS
    for name_of_field, value in more.items():
        setattr(request.event, name_of_field, value)
    return request


def node_event(phase: str, node: str = "n0", name: str = "e1") -> Any:
    request = event_pb2.NodeExecutionEventRequest(request_id="r")
    request.event.id.node_id = node
    request.event.id.execution_id.CopyFrom(execution_id(name))
    request.event.phase = core.NodeExecution.Phase.Value(phase)
    request.event.occurred_at.seconds = _SECONDS
    return request


def task_event(phase: str, *, retry: int = 0, version: int = 0, name: str = "e1") -> Any:
    request = event_pb2.TaskExecutionEventRequest(request_id="r")
    event = request.event
    event.task_id.CopyFrom(
        ids.Identifier(
            resource_type="TASK", project="flytesnacks", domain="development", name="t", version="v1"
        )
    )
    event.parent_node_execution_id.CopyFrom(
        ids.NodeExecutionIdentifier(node_id="n0", execution_id=execution_id(name))
    )
    event.retry_attempt, event.phase_version = retry, version
    event.phase = core.TaskExecution.Phase.Value(phase)
    event.occurred_at.seconds = _SECONDS
    return request


def path_of(request: Message) -> str:
    """Return the path of an event's call over HTTP, without its version."""
    kind = request.DESCRIPTOR.name.removesuffix("ExecutionEventRequest").lower()
    return PATHS[kind]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request that reached FlyteAdmin."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What FlyteAdmin answers. message: as protobuf."""

    status: int = 200
    message: Message = field(default_factory=event_pb2.WorkflowExecutionEventResponse)
    content_type: str = PROTOBUF
    hang: float = 0


def refusal(code: int, text: str, http_status: int, *details: Message) -> Answer:
    status = Status(code=code, message=text)
    for detail in details:
        status.details.add().Pack(detail)
    return Answer(http_status, status)


class FakeFlyteAdmin:
    """url: where it listens. reply: how it answers events; replace it. execution: the one that it knows.

    closes: it closes each connection without a word after an answer.
    """

    def __init__(self) -> None:
        self.url = ""
        self.arrived: list[Arrived] = []
        self.reply: Callable[[Arrived], Answer] = lambda request: Answer()
        self.execution: Any = None
        self.closes = False
        self.stop = threading.Event()

    @property
    def events(self) -> list[Arrived]:
        return [request for request in self.arrived if request.method == "POST"]

    def answer(self, request: Arrived) -> Answer:
        self.arrived.append(request)
        if request.method == "POST":
            return self.reply(request)
        return Answer(message=self.execution) if self.execution else refusal(5, "not found", 404)


def known_execution() -> Any:
    """An execution as FlyteAdmin knows it."""
    execution = execution_pb2.Execution(id=execution_id())
    execution.closure.workflow_id.CopyFrom(
        ids.Identifier(
            resource_type="WORKFLOW", project="flytesnacks", domain="development", name="core.wf", version="1"
        )
    )
    execution.spec.metadata.principal = "ada"
    execution.spec.labels.values["team"] = "ml"
    execution.spec.launch_plan.name = "core.lp"
    return execution


@contextmanager
def running_flyteadmin() -> Iterator[FakeFlyteAdmin]:
    admin = FakeFlyteAdmin()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = admin.answer(Arrived(self.command, self.path, headers, body))
            admin.stop.wait(answer.hang)
            content = answer.message.SerializeToString()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = admin.closes

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        admin.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield admin
        finally:
            admin.stop.set()
            server.shutdown()
            thread.join(10)
