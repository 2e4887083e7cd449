"""One trace from a request through outbox, relay and NATS to the answer of the reference agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.events.models import Event
from controlplane.local.programs import Program, free_port, start, stop_all
from controlplane.messaging.models import OutboxMessage
from registry.dispatch.models import ResourceRow
from registry.providers.models import Provider
from tests.conftest import as_application
from tests.support.another_server import another_server
from tests.support.api_client import token_for
from tests.support.paths import ROOT
from tests.support.trace_collector import Collector, Seen
from tests.support.waiting import is_reachable, until

AGENT = ROOT / "examples" / "agent"
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def relay(live: Any, folder: Path, **settings: str) -> Iterator[None]:
    command = (sys.executable, str(ROOT / "manage.py"), "relay")
    environment = as_application({**live.environment, **settings}, "worker")
    running = start(Program("relay", command, folder / "relay.log", environment))
    try:
        yield
    finally:
        stop_all([running], patience=15)


@contextmanager
def agent(url: str, folder: Path, token: str, **more: str) -> Iterator[Path]:
    """The reference agent, with one provider."""
    port, log = free_port(), folder / "agent.log"
    endpoint = f"http://127.0.0.1:{port}"
    provider = {"name": "slow", "service_type": "slow", "schema_version": "v1", "endpoint": endpoint}
    (folder / "providers.json").write_text(json.dumps([provider]))
    environment = {
        "PATH": os.environ["PATH"],
        "CONTROLPLANE_URL": url,
        "AGENT_NAME": "edge",
        "AGENT_TOKEN": token,
        "AGENT_PROVIDERS_FILE": str(folder / "providers.json"),
        "AGENT_STATE_FILE": str(folder / "own.token"),
        "AGENT_WORK_FILE": str(folder / "work.json"),
        "AGENT_PROBE_SECONDS": "0.2",
        "AGENT_POLL_SECONDS": "0.1",
        "PROVIDER_PORT": str(port),
        **more,
    }
    running = [
        subprocess.Popen([sys.executable, str(AGENT / name)], env=environment, stderr=log.open("ab"))
        for name in ("slow_provider.py", "agent.py")
    ]
    try:
        until(lambda: is_reachable(f"{endpoint}/health"), 30, log.read_text)
        until(lambda: Provider.objects.filter(name="slow", state="ready").exists(), 30, log.read_text)
        yield log
    finally:
        for process in running:
            process.kill()
            process.wait(20)


def request_resource(url: str, token: str, **headers: str) -> None:
    sent = urllib.request.Request(
        f"{url}/api/v1/resources",
        json.dumps({"service_type": "slow", "spec": {"note": "hunter2hunter2"}}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers},
        method="POST",
    )
    urllib.request.urlopen(sent, timeout=20).close()


def ancestors(collector: Collector, span: Seen) -> list[str]:
    """The names of a span and of all above it, as far as they were exported."""
    by_id = {one.id: one for one in collector.spans}
    names: list[str] = []
    while span is not None:
        names.append(span.name)
        span = by_id.get(span.parent)  # type: ignore[assignment]
    return names


def read_quickly(url: str, token: str, **headers: str) -> None:
    """A read that has a fast path, once the headers of such responses are known."""
    for more in ({}, {}, headers):
        path = f"{url}/api/v1/overrides/effective?project=&domain="
        sent = urllib.request.Request(path, headers={"Authorization": f"Bearer {token}", **more})
        urllib.request.urlopen(sent, timeout=20).close()


def test_one_trace_goes_from_the_request_to_the_answer_of_the_agent(live, tmp_path):
    token, agents_token = token_for("admin"), token_for("agent")
    sampled, unsampled = (f"00-{TRACE}-{CALLER}-{flags}" for flags in ("01", "00"))
    with Collector() as collector:
        # Of itself, nobody records anything.
        environment = {**collector.environment, "OTEL_TRACES_SAMPLER_ARG": "0"}
        # The spans of the web server come only when it stops.
        late = {**environment, "OTEL_BSP_SCHEDULE_DELAY": "60000"}
        with (
            another_server(live, tmp_path, **late) as url,
            relay(live, tmp_path, **environment),
            agent(url, tmp_path, agents_token, AGENT_NATS="1") as log,
        ):
            request_resource(url, token, traceparent=sampled)
            until(lambda: ResourceRow.objects.get().state == "running", 30, log.read_text)
            answer = collector.wait("agent.answer", "-relay")
            read_quickly(url, token, traceparent=unsampled)
            read_quickly(url, token, traceparent=sampled)
            assert not collector.named("POST /api/v1/resources")
    assert answer.trace == TRACE
    assert ancestors(collector, answer) == [
        "agent.answer",
        "publish dcm.agent.edge",
        "relay.deliver",
        "outbox.enqueue",
        "POST /api/v1/resources",
    ]
    (server,) = collector.named("POST /api/v1/resources", "controlplane-web")
    assert (server.parent, server.kind) == (CALLER, 2)
    assert server.attributes["http.response.status_code"] == 202
    _check_statements(collector, server)
    _check_what_has_no_span(collector)
    _check_rows()
    assert f"trace {TRACE}" in log.read_text()
    for secret in (token, agents_token, "hunter2hunter2"):
        assert not [body for body in collector.bodies if secret.encode() in body]


def _check_statements(collector: Collector, server: Seen) -> None:
    (written,) = (span for span in collector.named("INSERT registry_resource") if span.parent == server.id)
    assert written.attributes["db.system.name"] == "postgresql"
    assert "VALUES (%s" in written.attributes["db.query.text"]
    # What the answer has changed is in the trace too.
    assert {span.trace for span in collector.named("UPDATE registry_resource", "-relay")} == {TRACE}


def _check_what_has_no_span(collector: Collector) -> None:
    (read,) = collector.named("GET /api/v1/overrides/effective")
    assert read.attributes["controlplane.fast_path"] is True
    assert (read.trace, read.parent) == (TRACE, CALLER)
    assert not [span for span in collector.spans if "heartbeat" in span.name]
    assert not [span for span in collector.spans if span.events]


def _check_rows() -> None:
    assert OutboxMessage.objects.get().traceparent.startswith(f"00-{TRACE}-")
    events = Event.objects.filter(object_type="resource", traceparent__startswith=f"00-{TRACE}-")
    assert events.count() >= 2, list(Event.objects.values_list("type", "traceparent"))
