"""Slow statements and requests, and stacks on SIGUSR1, of real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.http import HttpRequest
from structlog.testing import capture_logs

from controlplane.database import direct, slow_statements
from controlplane.observability.requests_in_progress import ObservedRequest, RequestsInProgress
from controlplane.observability.stack_dumps import dump_stacks_on_signal
from tests.support.api_client import Api, token_for
from tests.support.paths import ROOT
from tests.support.waiting import until


@pytest.fixture
def slow(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Statements of 20 ms are slow. The lines that were logged."""
    settings.DATABASE_SLOW_STATEMENT_MS = 20
    with capture_logs() as logs:
        monkeypatch.setattr(slow_statements, "log", slow_statements.structlog.get_logger("test"))
        yield lambda: [entry["statement"] for entry in logs if entry["event"] == "database.slow_statement"]


def test_a_statement_that_fails_is_logged_too(transactional_db, slow):
    with connection.cursor() as cursor, pytest.raises(DatabaseError):
        cursor.execute("SELECT 1 / (CASE WHEN pg_sleep(0.03)::text = '' THEN 0 ELSE 1 END)")

    assert slow() == ["SELECT 1 / (CASE WHEN pg_sleep(0.03)::text = '…' THEN 0 ELSE 1 END)"]


def test_what_libpq_gets_as_text_is_logged_without_its_values(transactional_db, slow):
    opened = direct.direct_connection()
    direct.read_rows(opened, b"SELECT 'secret' FROM pg_sleep(0.03)")
    direct.read_binary(opened, b"SELECT 1 FROM pg_sleep(0.03)")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [0.03])
        cursor.execute("SELECT 1")

    assert slow() == [
        "SELECT '…' FROM pg_sleep(0.03)",
        "SELECT 1 FROM pg_sleep(0.03)",
        "SELECT pg_sleep(%s)",
    ]


def request(path: str) -> HttpRequest:
    made = HttpRequest()
    made.method, made.path, made.META = "GET", path, {"HTTP_X_REQUEST_ID": f"id-{path}"}
    return made


def test_requests_in_progress_and_slow_ones_that_have_ended():
    requests = RequestsInProgress()
    quick, slow_one, running = request("/quick"), request("/slow"), request("/running")
    for each in (quick, slow_one, running):
        requests.begin(each)
    for each, seconds in ((slow_one, 5.0), (running, 90.0)):
        requests._running[id(each)] = (each, time.time() - seconds)
    requests.end(quick, 200)
    requests.end(slow_one, 503)
    requests.end(request("/never began"), 200)

    found = requests.of_group()

    assert [(each.path, each.status, round(each.seconds)) for each in found] == [
        ("/running", None, 90),
        ("/slow", 503, 5),
    ]
    assert found[0].request_id == "id-/running"


def test_another_process_of_the_group_is_seen_until_it_has_ended(tmp_path, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    sleeper = subprocess.Popen(["sleep", "60"])
    file = tmp_path / f"requests_{sleeper.pid}.json"
    entry = {"process": sleeper.pid, "request_id": "a", "method": "GET", "path": "/x", "principal": "ada"}
    file.write_text(json.dumps([{**entry, "started_at": "2026-11-24T01:58:00+00:00", "seconds": 3.5}]))
    try:
        (found,) = RequestsInProgress().of_group()
        assert found == ObservedRequest(
            sleeper.pid, "a", "GET", "/x", "ada", "2026-11-24T01:58:00+00:00", 3.5
        )
        file.write_text("half of a fi")
        assert RequestsInProgress().of_group() == []
    finally:
        sleeper.kill()
        sleeper.wait()
    assert RequestsInProgress().of_group() == []
    assert not file.exists()


def test_a_long_request_is_written_for_the_others_and_then_taken_back(tmp_path, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    requests, running = RequestsInProgress(), request("/long")
    requests.begin(running)
    file = tmp_path / f"requests_{os.getpid()}.json"
    until(lambda: file.exists() and json.loads(file.read_text())[0]["path"] == "/long", seconds=60)

    requests.end(running, 200)

    until(lambda: json.loads(file.read_text())[0]["status"] == 200, seconds=60)


def test_administrators_alone_see_the_requests_without_their_own(db):
    admin, viewer = Api(token_for("admin")), Api(token_for("viewer"))

    answer = admin.get("debug/requests")
    # Other tests of this process may have had slow requests.
    assert [item for item in answer.json()["items"] if item["status"] is None] == []
    assert answer.headers["X-Request-ID"] not in answer.content.decode()
    assert viewer.get("debug/requests").status_code == 403
    assert admin.get("debug/requests?x=1").status_code == 400


@pytest.mark.parametrize(
    "arguments",
    [
        ("manage.py", "shell", "-c", "import time; print('here', flush=True); time.sleep(60)"),
        (
            "-c",
            "import controlplane.asgi, time; print('here', flush=True); time.sleep(60)",
        ),
    ],
    ids=["command", "web"],
)
def test_a_process_prints_its_stacks_and_goes_on(arguments):
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while process.stdout.readline() != "here\n":
            assert process.poll() is None
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        assert process.poll() is None
    finally:
        process.terminate()
        _, err = process.communicate()
    assert len(re.findall(r"^Current thread 0x", err, re.MULTILINE)) == 2
    assert "<string>" in err or "in <module>" in err


def test_the_signal_is_taken_back_from_a_handler_that_came_later(capfd):
    before = signal.getsignal(signal.SIGUSR1)
    try:
        dump_stacks_on_signal()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        dump_stacks_on_signal()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert "most recent call first" in capfd.readouterr().err
    finally:
        signal.signal(signal.SIGUSR1, before or signal.SIG_DFL)
        dump_stacks_on_signal()
