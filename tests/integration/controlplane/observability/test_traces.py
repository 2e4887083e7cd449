"""Traces: off without an endpoint, sampled, exported after a fork, and harmless without a collector."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from celery import signals
from django.db import connection

from controlplane.celery import app
from controlplane.observability.log_traces import LessOften, add_trace
from controlplane.observability.trace_context import is_sampled, trace_of
from controlplane.observability.traces import exporting, spans, tasks
from tests.support.paths import ROOT
from tests.support.recorded_traces import recorded_traces
from tests.support.trace_collector import Collector

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings.test", **environment}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)


def test_without_an_endpoint_nothing_of_opentelemetry_is_imported():
    # The client of Redis imports the SDK's metrics wherever they are installed.
    program = "import sys, controlplane.asgi; print(*sys.modules)"
    ran = run(program)
    assert ran.returncode == 0, ran.stderr
    imported = {*ran.stdout.split()}
    assert "controlplane.observability.traces.spans" in imported
    ours = ("opentelemetry.sdk.trace", "opentelemetry.exporter", "controlplane.observability.traces.recorder")
    assert imported.isdisjoint(ours)
    assert not spans.is_on()
    with spans.span("nothing") as span:
        assert (span.traceparent, span.is_recording, spans.traceparent()) == ("", False, "")


def test_an_endpoint_without_the_extra_is_an_error_that_says_what_to_install():
    program = "import sys; sys.modules['opentelemetry'] = None; import controlplane.settings.traces"
    ran = run(program, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert ran.returncode == 1
    assert "The extra `otel` is not installed: pip install" in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("OTEL_TRACES_SAMPLER", "sometimes", "is none of"),
        ("OTEL_TRACES_SAMPLER_ARG", "2", "must be from 0 to 1"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "is not http/protobuf"),
    ],
)
def test_values_that_the_sdk_would_quietly_replace_are_errors(variable, value, problem):
    ran = run("import controlplane.settings.traces", **{variable: value})
    assert ran.returncode == 1
    assert problem in ran.stderr.splitlines()[-1]


def test_one_of_a_hundred_traces_is_recorded_and_callers_decide_about_theirs():
    with recorded_traces(OTEL_TRACES_SAMPLER="parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG="0.01"):
        recorded = sum(_is_recorded("") for _ in range(20_000))
        assert 100 < recorded < 320
        assert all(_is_recorded(f"{PARENT}-01") for _ in range(100))
        assert not any(_is_recorded(f"{PARENT}-00") for _ in range(100))


def _is_recorded(parent: str) -> bool:
    span = spans.span("root", parent=parent)
    # Not recorded, it still names its trace, so that whoever is called does not record it either.
    assert is_sampled(span.traceparent) is span.is_recording
    assert trace_of(span.traceparent)
    return span.is_recording


def test_a_span_has_its_parent_its_process_and_the_type_of_its_error_alone():
    with recorded_traces(OTEL_RESOURCE_ATTRIBUTES="deployment.environment=staging,team=core") as collector:
        with pytest.raises(ValueError, match="hunter2"), spans.span("outer", parent=f"{PARENT}-01"):
            spans.span("inner", "client", attributes={"controlplane.attempt": 3}).end()
            raise ValueError("hunter2")
        exporting.stop()
        (inner,), (outer,) = collector.named("inner"), collector.named("outer")
    assert (inner.parent, inner.trace, inner.kind) == (outer.id, outer.trace, 3)
    assert inner.attributes == {"controlplane.attempt": 3}
    assert outer.attributes == {"error.type": "ValueError"}
    assert (outer.is_error, outer.events) == (True, 0)
    assert not [body for body in collector.bodies if b"hunter2" in body]
    named = {name: outer.resource[name] for name in ("service.name", "deployment.environment", "team")}
    assert named == {"service.name": "controlplane-test", "deployment.environment": "staging", "team": "core"}
    assert outer.resource["deployment.environment.name"] == "staging"
    assert outer.resource["service.version"]


def test_a_forked_process_exports_what_it_records():
    with Collector() as collector:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.environ.update(collector.environment, OTEL_TRACES_SAMPLER="always_on")
                exporting.start("forked", name="controlplane", environment="tests")
                spans.span("in the child").end()
                exporting.stop()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert collector.wait("in the child").service == "controlplane-forked"


@pytest.mark.parametrize("collector", ["absent", "silent"])
def test_a_collector_that_is_away_delays_nobody(collector):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        if collector == "absent":
            silent.close()
        with recorded_traces(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}"):
            began = time.monotonic()
            for _ in range(3000):
                spans.span("lost").end()
            spent = time.monotonic() - began
            began = time.monotonic()
            exporting.stop()
            stopped = time.monotonic() - began
    assert spent < 3
    assert stopped < exporting.STOP_SECONDS + 1


def test_a_collector_that_is_away_has_a_line_a_minute(monkeypatch):
    lines = LessOften()
    record = logging.LogRecord("opentelemetry.exporter", logging.ERROR, "", 0, "Failed", (), None)
    assert [lines.filter(record) for _ in range(5)] == [True, False, False, False, False]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert lines.filter(record)


def test_log_lines_have_the_ids_of_the_current_span():
    line = {"event": "done", "trace_id": "of the client"}
    assert add_trace(None, "info", dict(line)) == line
    with recorded_traces(), spans.span("work") as span:
        version, trace, span_id, flags = span.traceparent.split("-")
        assert add_trace(None, "info", line) == {"event": "done", "trace_id": trace, "span_id": span_id}
        assert version == "00"
        assert flags in ("01", "03")


def test_threads_have_no_current_span_of_another_one():
    with recorded_traces(), spans.span("work"):
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(spans.traceparent()))
        thread.start()
        thread.join()
    assert seen == [""]


def test_a_task_goes_on_with_the_trace_of_whoever_sends_it(db):
    sent: dict[str, str] = {}

    @app.task(name="tests.traced")
    def traced() -> None:
        sent["inside"] = spans.traceparent()
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s, 'hunter2'", ["secret-parameter"])

    @app.task(name="tests.fails")
    def fails() -> None:
        raise LookupError("hunter2")

    with recorded_traces() as collector:
        tasks.follow_tasks()
        try:
            headers: dict[str, str] = {}
            signals.before_task_publish.send(sender="tests.traced", headers=headers)
            traced.apply(headers=headers)
            fails.apply()
        finally:
            tasks.ignore_tasks()
        exporting.stop()
    (publish,), (ran,) = collector.named("apply_async/tests.traced"), collector.named("run/tests.traced")
    assert (ran.trace, ran.parent) == (publish.trace, publish.id)
    assert sent["inside"].startswith(f"00-{ran.trace}-{ran.id}")
    (statement,) = (span for span in collector.named("SELECT") if span.parent == ran.id)
    assert statement.attributes["db.query.text"] == "SELECT %s, ?"
    (failed,) = collector.named("run/tests.fails")
    assert (failed.attributes["error.type"], failed.is_error) == ("LookupError", True)
    assert not [body for body in collector.bodies if b"hunter2" in body or b"secret-parameter" in body]
