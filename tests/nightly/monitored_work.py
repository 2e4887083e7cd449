"""Work for a monitored system: whatever its dashboards show happens, again and again, beside usual reads."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import psycopg
from flyteidl.admin import project_pb2
from flyteidl.service import admin_pb2_grpc

from controlplane.celery import app
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ToPublish
from tests.support.api_client import AGENT
from tests.support.flyte_events import PROTOBUF, path_of, workflow_event
from tests.support.waiting import until

SCOPE = {"project": "ads", "domain": "development"}
FLYTE = "project_domain_attributes/ads/development"
FLYTE_VALUE = {"attributes": {"matchingAttributes": {"workflowExecutionConfig": {"maxParallelism": 5}}}}


@dataclass
class Client:
    """Requests with one token, as a program sends them."""

    url: str
    token: str

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.send(method, path, data) or b"null")

    def send(
        self, method: str, path: str, data: bytes | None, content_type: str = "application/json"
    ) -> bytes:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=data,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
            return content

    def refused(self, method: str, path: str, body: Any = None) -> int:
        """Send what is refused; return the status."""
        try:
            self(method, path, body)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        raise AssertionError(f"{method} {path} was not refused.")


class Repeated(threading.Thread):
    """Does something until it is stopped. Errors of the network are what faults bring with them."""

    def __init__(self, step: Callable[[int], None], *, pause: float) -> None:
        super().__init__(daemon=True)
        self.step, self.pause = step, pause
        self.stopping = threading.Event()
        self.errors: list[str] = []

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(self.pause):
            number += 1
            try:
                self.step(number)
            except (OSError, grpc.RpcError) as error:
                self.errors.append(repr(error))

    def stop(self) -> None:
        self.stopping.set()
        self.join(60)


def reads(client: Client) -> Callable[[int], None]:
    """Usual requests: reads, and now and then a write."""
    effective = "overrides/effective?project=ads&domain=development"
    paths = ["agents", effective, "overrides", "events", "me", effective, "pools"]

    def step(number: int) -> None:
        client("GET", paths[number % len(paths)])
        if number % 50 == 0:
            body = {"attributes": {"limits": {"cpu": str(number % 7 + 1)}}}
            client("PUT", "overrides/task_resource?project=ads", body)

    return step


class Work:
    """One round of what happens less often than reads. certificate: of the gRPC port."""

    def __init__(self, client: Client, grpc_port: int, certificate: Path) -> None:
        self.client = client
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        self.channel = grpc.secure_channel(f"127.0.0.1:{grpc_port}", credentials)
        client("PUT", "pools/licences", {"capacity": 1, "lease_seconds": 5})
        client("POST", "signing-keys:rotate")
        token = client("POST", "join-tokens", {"name": "fleet", "name_pattern": "joined-*"})["token"]
        agent = {
            **AGENT,
            "name": "joined-1",
            "topic_name": "dcm.agent.joined-1",
            "service_types": ["network"],
        }
        joined = Client(client.url, token)("POST", "agents:join", agent)
        self.agent = Client(client.url, joined["token"])
        self.path = f"agents/{joined['agent']['agent_id']}"

    def __call__(self, number: int) -> None:
        self.agent("PUT", f"{self.path}/heartbeat", {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0})
        self._lease(number)
        self._run_resource(number)
        self._ask_as_flyte()
        self._report_execution(number)
        assert self.client.refused("GET", "no-such-page") == 404
        assert Client(self.client.url, "cp_pat_wrong").refused("GET", "me") == 401

    def _lease(self, number: int) -> None:
        """The pool is exhausted, somebody waits, and gets the unit when it is returned."""
        wanted = {"scope": SCOPE, "queue": True}
        leases = [
            self.client("POST", "pools/licences/leases", {**wanted, "token": f"{name}-{number}"})
            for name in ("first", "second")
        ]
        for lease in leases:
            self.client("DELETE", f"pools/licences/leases/{lease['id']}")

    def _run_resource(self, number: int) -> None:
        """A resource is requested, and its agent says that it runs."""
        self.client("POST", f"resources?id=net-{number}", {"service_type": "network", "spec": {}})
        for item in self.agent("GET", f"{self.path}/requests?wait=5")["items"]:
            resource = item["event"]["data"]["resource_id"]
            done = {"resource_id": resource, "epoch": 1, "status": "PROVISIONING"}
            self._answer(f"{resource}-done", "dcm.agent.creation-acknowledged", done)
            self._answer(f"{resource}-runs", "dcm.status.network", {"id": resource, "status": "RUNNING"})

    def _answer(self, event_id: str, event_type: str, data: dict[str, Any]) -> None:
        event = {"specversion": "1.0", "id": event_id, "source": "dcm/agents/joined-1", "type": event_type}
        self.agent("POST", f"{self.path}/answers", {**event, "data": data})

    def _ask_as_flyte(self) -> None:
        self.client("PUT", FLYTE, FLYTE_VALUE)
        self.client("GET", f"{FLYTE}?resource_type=WORKFLOW_EXECUTION_CONFIG")
        stub = admin_pb2_grpc.AdminServiceStub(self.channel)
        metadata = (("authorization", f"Bearer {self.client.token}"),)
        stub.ListProjects(project_pb2.ProjectListRequest(), metadata=metadata, timeout=10)

    def _report_execution(self, number: int) -> None:
        for phase in ("QUEUED", "RUNNING", "SUCCEEDED"):
            event = workflow_event(phase, f"e{number}")
            self.client.send("POST", path_of(event), event.SerializeToString(), PROTOBUF)


def fail_now_and_then(client: Client, nats_url: str) -> None:
    """A request that nobody answers, and what raises alerts of its own: a guard, an unreadable message."""
    client("POST", "resources?id=web", {"service_type": "vm", "spec": {"image": "nginx:1.29"}})
    client("POST", "fleet-guards:overrule", {"environment": AGENT["environment"], "ruling": "engage"})
    unreadable = ToPublish("dcm.agents.responses", b"no event", str(uuid4()))
    with NatsConnection(nats_url, name="agent") as nats:
        until(lambda: nats.publish([unreadable], timeout=10) == [""], 30, pause=0.5)
    app.send_task("pools.sweep", args=["an argument that it does not take"])


@contextmanager
def locked(database_url: str, table: str) -> Iterator[None]:
    with psycopg.connect(database_url) as holder:
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def fail_requests(client: Client, number: int) -> None:
    """Ask for what is locked, ten times at once: each is answered with 503 after two seconds."""
    codes: list[int] = []

    def ask_once() -> None:
        with suppress(OSError):
            codes.append(client.refused("GET", "jobs?project=ads"))

    for _ in range(number // 10):
        threads = [threading.Thread(target=ask_once) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(codes) == {503}


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for loopback, and its key."""
    certificate, key = folder / "grpc.crt", folder / "grpc.key"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90"
        f" -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return certificate, key
