"""Spans of requests that Django answers: names, statements, secrets, log lines, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from controlplane.events.models import Event
from controlplane.observability.traces import exporting
from tests.api.conventions.test_request_log import lines  # noqa: F401  (a fixture)
from tests.support.api_client import Api, token_for
from tests.support.played_agent import PlayedAgent
from tests.support.recorded_traces import recorded_traces
from tests.support.trace_collector import Collector

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{CALLER}-01"
_MIDDLEWARE = "controlplane.observability.traces.middleware.TracesMiddleware"


@pytest.fixture
def traced(db, settings) -> Iterator[Collector]:
    settings.MIDDLEWARE = [settings.MIDDLEWARE[0], _MIDDLEWARE, *settings.MIDDLEWARE[1:]]
    with recorded_traces() as collector:
        yield collector


def test_the_middleware_is_not_in_place_without_traces():
    assert _MIDDLEWARE not in settings.MIDDLEWARE


def test_a_request_has_a_span_named_by_its_route(traced):
    api = Api(token_for("admin"))
    api.put(
        "pools/snowflake",
        {"capacity": 1, "title": "unseen-in-spans"},
        traceparent=HEADER,
        X_Request_ID="r-1",
    )
    exporting.stop()
    (server,) = traced.named("PUT /api/v1/pools/<str:pool>")
    assert (server.trace, server.parent, server.kind) == (TRACE, CALLER, 2)
    assert server.attributes == {
        "http.request.method": "PUT",
        "url.path": "/api/v1/pools/snowflake",
        "url.scheme": "http",
        "http.route": "/api/v1/pools/<str:pool>",
        "http.response.status_code": 201,
        "controlplane.request_id": "r-1",
    }
    assert not server.is_error
    statements = [span for span in traced.spans if span.parent == server.id]
    assert {span.kind for span in statements} == {3}
    (written,) = (span for span in statements if span.name == "INSERT pools_pool")
    assert "snowflake" not in str(written.attributes)
    for secret in (api.token, "unseen-in-spans"):
        assert not [body for body in traced.bodies if secret.encode() in body]


def test_a_change_stores_its_trace_with_its_event(traced):
    Api(token_for("admin")).put("pools/snowflake", {"capacity": 1}, traceparent=HEADER)
    exporting.stop()
    (server,) = traced.named("PUT /api/v1/pools/<str:pool>")
    event = Event.objects.get(object_type="pool")
    assert event.traceparent == f"00-{TRACE}-{server.id}-01"


def test_an_unrecorded_trace_goes_on_unrecorded(traced):
    Api(token_for("admin")).put("pools/snowflake", {"capacity": 1}, traceparent=f"00-{TRACE}-{CALLER}-00")
    exporting.stop()
    assert not traced.spans
    traceparent = Event.objects.get(object_type="pool").traceparent
    assert traceparent.startswith(f"00-{TRACE}-")
    assert traceparent.endswith("-00")


def test_without_traces_an_event_has_none(api):
    api.put("pools/snowflake", {"capacity": 1}, traceparent=HEADER)
    assert Event.objects.get(object_type="pool").traceparent is None


def test_an_effective_read_says_how_many_levels_and_leaves_it_resolved(traced):
    api = Api(token_for("admin"))
    body: dict[str, Any] = {"attributes": {"defaults": {"cpu": "1", "memory": "1Gi"}}}
    assert api.put("overrides/task_resource", body).status_code in (200, 201)
    assert api.get("overrides/effective").status_code == 200
    exporting.stop()
    resolved = traced.named("effective.resolve")[-1]
    assert resolved.attributes["controlplane.levels"] >= 1
    assert resolved.attributes["controlplane.leaves"] >= 2
    (server,) = traced.named("GET /api/v1/overrides/effective")
    assert resolved.parent == server.id
    assert [span for span in traced.spans if span.parent == resolved.id]


def test_an_error_of_ours_has_its_status_and_no_text(traced, monkeypatch):
    from controlplane.endpoints.pools import pool_views

    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(pool_views.PoolCollection, "get", fail)
    assert Api(token_for("admin")).get("pools").status_code == 500
    exporting.stop()
    (server,) = traced.named("GET /api/v1/pools")
    assert (server.is_error, server.attributes["error.type"]) == (True, "500")
    assert not [body for body in traced.bodies if b"hunter2" in body]


def test_log_lines_name_our_own_trace(traced, lines):  # noqa: F811
    Api(token_for("admin")).put("pools/snowflake", {"capacity": 1})
    exporting.stop()
    (server,) = traced.named("PUT /api/v1/pools/<str:pool>")
    (line,) = (line for line in lines() if line.get("event") == "request_finished")
    assert (line["trace_id"], line["span_id"]) == (server.trace, server.id)


def test_an_agent_by_https_gets_the_trace_and_its_answer_goes_on_with_it(traced):
    agent = PlayedAgent("edge")
    created = Api(token_for("admin")).post(
        "resources", {"service_type": "vm", "spec": {}}, traceparent=HEADER
    )
    assert created.status_code == 202, created.content
    (item,) = agent.api.get(f"{agent.path}/requests").json()["items"]
    event = item["event"]
    assert event["traceparent"].startswith(f"00-{TRACE}-")
    answer = {
        "specversion": "1.0",
        "id": "answer-1",
        "source": "dcm/agents/edge",
        "type": "dcm.agent.creation-acknowledged",
        "traceparent": event["traceparent"],
        "data": {"resource_id": event["data"]["resource_id"], "epoch": 1, "status": "PROVISIONING"},
    }
    assert agent.api.post(f"{agent.path}/answers", answer).status_code == 202
    unreadable = {**answer, "id": "answer-2", "traceparent": "?"}
    assert agent.api.post(f"{agent.path}/answers", unreadable).status_code == 202
    exporting.stop()
    enqueued, answered = traced.named("outbox.enqueue")[0], traced.named("agent.answer")
    assert [(span.trace, span.parent) for span in answered] == [(TRACE, enqueued.id)]


def test_few_heartbeats_that_django_answers_have_a_line(lines, api, db, monkeypatch):  # noqa: F811
    from controlplane.api import request_log

    agent = PlayedAgent("edge")
    beat = {"timestamp": "2026-11-25T00:00:00Z", "consumer_lag": 0}
    seen = []
    for drawn in (0, 1):
        monkeypatch.setattr(request_log, "randrange", lambda number, drawn=drawn: drawn)
        before = len(lines())
        assert agent.api.put(f"{agent.path}/heartbeat", beat).status_code == 200
        seen.append(len(lines()) - before)
    assert seen == [1, 0]
    assert agent.api.put(f"{agent.path}/heartbeat", {}).status_code == 400
    assert lines()[-1]["code"] == 400
