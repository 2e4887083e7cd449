"""The real DCM agent as a process, a service provider for it, and a recording of what they say."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.identity.actors import Actor
from controlplane.local.programs import free_port
from registry.agents.models import SweepRecord
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import (
    ResourceRequest,
    cancel_resource,
    create_resource,
    delete_resource,
)
from registry.dispatch.sweep import sweep_resources
from tests.support.api_client import ADMINISTRATOR
from tests.support.waiting import is_reachable, until
from tests.support.wire import Wire, WireMessage

SERVICE_TYPE = "container"
NAME = "edge"
ACTOR = Actor(None, "admin")
SPEC = {"image": "nginx", "metadata": {"labels": {"app": "web"}}}
RECORDING = Path(__file__).with_name("dcm_conversation.json")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)")


@dataclass
class Call:
    """A request that the provider got."""

    method: str
    name: str
    key: str
    body: Any


@dataclass
class StubProvider:
    """health, status, delay: of its next answers. It reports each deletion by a status."""

    health: str = "healthy"
    status: int = 201
    delay: float = 0.0
    calls: list[Call] = field(default_factory=list)
    publish: Any = None

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/containers"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def report(self, resource_id: str, status: str, **output: Any) -> None:
        data = {"id": resource_id, "status": status, "message": "", "timestamp": _now()}
        event = {
            "specversion": "1.0",
            "id": f"status-{resource_id}-{status}",
            "source": "dcm/providers/stub",
            "type": f"dcm.status.{SERVICE_TYPE}",
            "data": {**data, **({"output_spec": output} if output else {})},
        }
        self.publish(f"dcm.{SERVICE_TYPE}", json.dumps(event).encode())

    def seen(self, resource_id: str) -> list[tuple[str, str]]:
        """Return method and Idempotency-Key of each call about the resource."""
        keys = (resource_id, f"{resource_id}.d1")
        return [
            (call.method, call.key) for call in self.calls if call.key in keys or call.name == resource_id
        ]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _handler(provider: StubProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"status": provider.health})

        def do_POST(self) -> None:
            self._note()
            status = provider.status
            time.sleep(provider.delay)
            self._send(status, {})

        def do_DELETE(self) -> None:
            call = self._note()
            self._send(204, None)
            # Well after the answer, as of a real one.
            threading.Timer(0.5, provider.report, (call.name, "DELETED")).start()

        def _note(self) -> Call:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            name = self.path.rpartition("/")[2]
            call = Call(self.command, name, self.headers["Idempotency-Key"], json.loads(raw or b"null"))
            provider.calls.append(call)
            return call

        def _send(self, status: int, body: Any) -> None:
            self.send_response(status)
            self.end_headers()
            if body is not None:
                self.wfile.write(json.dumps(body).encode())

        def log_message(self, *args: object) -> None:
            pass

    return Handler


class DcmAgent:
    def __init__(self, binary: str, folder: Path, *, url: str, nats_url: str) -> None:
        self.binary, self.log = binary, folder / "dcm-agent.log"
        self.address = f"127.0.0.1:{free_port()}"
        self.environment = {
            "AGENT_NAME": NAME,
            "AGENT_ENVIRONMENT": "prod",
            "AGENT_COST": "low",
            "AGENT_SERVER_ADDRESS": self.address,
            "AGENT_SP_PERSISTENCE_PATH": str(folder / "registrations"),
            "AGENT_MESSAGING_URL": nats_url,
            "AGENT_MESSAGING_ACK_WAIT": "10s",
            "AGENT_HEALTH_CHECK_INTERVAL": "1s",
            "AGENT_HEALTH_CHECK_TIMEOUT": "900ms",
            "AGENT_HEARTBEAT_INTERVAL": "5s",
            "AGENT_ROUTING_HANDLER_TIMEOUT": "8s",
            "AGENT_ROUTING_NAK_DELAY": "100ms",
            "AGENT_ROUTING_RETRY_BACKOFF": "100ms",
            "AGENT_ROUTING_RETRY_MAX_BACKOFF": "200ms",
            "AGENT_MESSAGING_RECONNECT_INITIAL_BACKOFF": "100ms",
            "AGENT_MESSAGING_RECONNECT_MAX_BACKOFF": "500ms",
            "DCM_REGISTRATION_URL": url,
            "DCM_REGISTRATION_INITIAL_BACKOFF": "100ms",
            "DCM_REGISTRATION_MAX_BACKOFF": "1s",
            "DCM_PREREQUISITE_RETRY_INTERVAL": "1s",
        }

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary], env=self.environment, stdout=self.log.open("ab"), stderr=subprocess.STDOUT
        )
        until(lambda: is_reachable(f"http://{self.address}/api/v1alpha1/health"), 60, self.log.read_text)

    def add_provider(self, endpoint: str) -> None:
        body = {
            "name": "stub",
            "endpoint": endpoint,
            "service_type": SERVICE_TYPE,
            "schema_version": "v1alpha1",
        }
        request = urllib.request.Request(
            f"http://{self.address}/api/v1alpha1/providers",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()

    def provider_is(self, status: str) -> bool:
        with urllib.request.urlopen(f"http://{self.address}/api/v1alpha1/providers", timeout=30) as answer:
            return [one["status"] for one in json.loads(answer.read())["results"]] == [status]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


class Recording:
    """The conversation by scenario: what was requested, and each message on the wire, in order."""

    def __init__(self) -> None:
        self.scenarios: dict[str, list[dict[str, Any]]] = {}
        self._steps: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}

    def begin(self, name: str) -> None:
        self._steps = self.scenarios.setdefault(name, [])

    def note(self, do: str, resource_id: str, **more: Any) -> None:
        self._steps.append({"do": do, "resource_id": resource_id, **more})

    def take(self, message: WireMessage) -> None:
        direction = "sent" if message.subject.startswith("dcm.agent.") else "received"
        self._steps.append(
            {
                direction: message.subject,
                "headers": {name: self._plain(value) for name, value in message.headers.items()},
                "body": json.loads(self._plain(message.body.decode())),
            }
        )

    def _plain(self, text: str) -> str:
        """Replace ids and times, which differ each time."""

        def name(match: re.Match[str]) -> str:
            return self._names.setdefault(match[0], f"uuid-{len(self._names) + 1}")

        return without_times(_UUID.sub(name, text))

    def write(self) -> None:
        RECORDING.write_text(json.dumps(self.scenarios, indent=1) + "\n")


def without_times(text: str) -> str:
    return _TIME.sub("2026-11-21T09:30:00Z", text)


def create(resource_id: str) -> None:
    """Request a resource, although the agent may have reported its provider as weak."""
    with transaction.atomic():
        AgentMessaging.objects.update(weak_types={})
        create_resource(ResourceRequest(resource_id, SERVICE_TYPE, SPEC), actor=ACTOR)
        assert ResourceRow.objects.get(id=resource_id).epoch == 1, "It was not placed."


def delete(resource_id: str) -> None:
    delete_resource(resource_id, force=False, caller=ADMINISTRATOR, actor=ACTOR)


def cancel(resource_id: str) -> None:
    cancel_resource(resource_id, caller=ADMINISTRATOR, actor=ACTOR)


def pass_time(resource_id: str) -> None:
    """Let the deletion be unanswered for ten minutes."""
    AssignmentRow.objects.filter(resource=resource_id).update(
        deletion_sent_at=F("deletion_sent_at") - timedelta(minutes=10)
    )
    ResourceRow.objects.filter(id=resource_id).update(due_at=Now())
    times = {"last_sweep_at": Now(), "reachable_since": Now() - timedelta(hours=1)}
    SweepRecord.objects.update_or_create(id=1, defaults=times)
    assert sweep_resources()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def listen(url: str, recording: Recording) -> Wire:
    return Wire(url, "dcm.>", recording.take)
