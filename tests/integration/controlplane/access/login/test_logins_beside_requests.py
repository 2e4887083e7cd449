"""Hashing passwords and checking health on a real web server, while requests come that need neither."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from controlplane.access import principals
from controlplane.access.login.password_hash import BackgroundPBKDF2
from controlplane.access.models import Principal, PrincipalKind
from controlplane.asgi import Router
from controlplane.endpoints.access import password_queue
from controlplane.local.programs import Program, free_port, start, stop_all, tail
from controlplane.web import health
from controlplane.web import health_answers as health_endpoint
from controlplane.web.health import Check
from tests.conftest import System
from tests.support.api_client import ACTOR, AGENT, Api, token_for
from tests.support.asgi_client import Worker, close_connections
from tests.support.waiting import is_reachable, until

PASSWORD = "correct horse battery"
LOGINS = 40
CSRF = "c" * 32


@pytest.fixture
def web(live: System, tmp_path: Any) -> Iterator[str]:
    """The address of a web server with one worker, two threads, and Django's real password hash."""
    port = free_port()
    environment = {
        **live.environment,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "WEB_THREADS": "2",
        "PASSWORD_QUEUE": "3",
    }
    command = ("-m", "controlplane.serving", "--port", str(port))
    server = start(Program("web", (sys.executable, *command), tmp_path / "log", environment))
    try:
        _wait_for(f"http://127.0.0.1:{port}/livez", lambda: tail(tmp_path / "log", 30))
        yield f"127.0.0.1:{port}"
    finally:
        stop_all([server], patience=5)


def test_forty_logins_at_once_refuse_and_stall_nobody_else(web: str) -> None:
    _people(LOGINS)
    token = token_for("agent", "viewer")
    agent = Api(token).post("agents", AGENT).json()["agent_id"]
    beat = json.dumps({"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    calls: dict[str, Callable[[], int]] = {
        "read": lambda: _ask(web, "GET", "/api/v1/me", None, headers)[0],
        "heartbeat": lambda: _ask(web, "PUT", f"/api/v1/agents/{agent}/heartbeat", beat, headers)[0],
        "livez": lambda: _ask(web, "GET", "/livez")[0],
        "readyz": lambda: _ask(web, "GET", "/readyz")[0],
    }
    over = threading.Event()

    with ThreadPoolExecutor(LOGINS + len(calls)) as pool:
        futures = {name: pool.submit(_until, over, ask) for name, ask in calls.items()}
        answers = list(pool.map(lambda number: _log_in(web, f"p{number}"), range(LOGINS)))
        over.set()

    statuses = [status for status, _ in answers]
    assert set(statuses) == {302, 503}
    # As many as fit into the queue, at least.
    assert statuses.count(302) >= 3
    assert all(answer_headers["Retry-After"] == "5" for status, answer_headers in answers if status == 503)
    for name, done in futures.items():
        assert set(done.result()) == {200}, name
        assert len(done.result()) >= 5, name


def test_a_slow_form_takes_no_place_in_the_queue(web: str) -> None:
    _people(1)
    half = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nusername="
    slow = [http.client.HTTPConnection(web, timeout=10) for _ in range(20)]
    for connection in slow:
        connection.connect()
        connection.sock.sendall(half)

    assert _log_in(web, "p0")[0] == 302
    for connection in slow:
        connection.close()


class Web:
    """A web worker in this process."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application

    def stop(self) -> None:
        self.worker.run(self.router.health.close())
        close_connections(self.router.bridge.pool, 4)
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


@pytest.fixture
def router(transactional_db: None) -> Iterator[Web]:
    running = Web()
    yield running
    running.stop()


def test_health_is_answered_while_every_thread_is_busy(router: Web) -> None:
    release = threading.Event()
    busy = [router.router.bridge.pool.submit(release.wait, 20) for _ in range(20)]
    try:
        alive, ready = router.worker.get("/livez", X_Request_ID="r-1"), router.worker.get("/readyz?verbose")
    finally:
        release.set()

    assert not any(future.done() and not future.result() for future in busy)
    assert (alive.status, alive.body, alive["content-type"]) == (200, b"ok\n", "text/plain")
    assert alive["x-request-id"] == "r-1"
    assert ready.status == 200
    assert json.loads(ready.body)["checks"]["postgres"] == "ok"


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/startupz", "/readyz?verbose", "/readyz?verbose&exclude=nats"]
)
def test_health_is_the_same_with_and_without_the_event_loop(router: Web, path: str) -> None:
    ours, djangos = router.worker.get(path), Api().get(path)

    assert (ours.status, ours.body) == (djangos.status_code, djangos.content)
    assert ours["content-type"] == djangos["Content-Type"]
    assert b"x-request-id" in dict(ours.headers)


def test_a_check_that_hangs_or_breaks_is_a_failed_one_and_is_run_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, runs = threading.Event(), []

    def hang() -> bool:
        runs.append(1)
        return release.wait(60)

    checks = (
        Check("postgres", True, hang, "postgres"),
        Check("valkey", False, lambda: bool(1 // 0), "valkey"),
    )
    monkeypatch.setattr(health, "CHECKS", checks)
    monkeypatch.setattr(health_endpoint, "_PATIENCE_SECONDS", 0.2)
    worker = Worker(lambda: health_endpoint.HealthAnswers(checks))
    try:
        answers = [worker.start("GET", "/readyz?verbose") for _ in range(5)]
        results = [answer.result(10) for answer in answers]
        excluded = worker.get("/readyz?exclude=postgres")
        release.set()
        time.sleep(0.2)
        again = worker.get("/readyz?verbose")
    finally:
        release.set()
        worker.run(worker.application.close())
        worker.stop()

    assert {result.status for result in results} == {503}
    assert json.loads(results[0].body)["checks"] == {"postgres": "failed", "valkey": "degraded"}
    assert excluded.status == 200
    assert (again.status, len(runs)) == (200, 1)


def test_a_form_that_is_too_large_is_refused(router: Web) -> None:
    answer = router.worker.start("POST", "/login", b"x" * 70_000).result(15)

    assert (answer.status, json.loads(answer.body)["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("method", "path", "queued"),
    [
        ("POST", "/login", True),
        ("POST", "/%6cogin", True),
        ("GET", "/login", False),
        ("POST", "/account/password", True),
        ("POST", "/api/v1/me:change-password", True),
        ("POST", "/api/v1/me:can-i", False),
    ],
)
def test_requests_with_passwords_are_recognised(method: str, path: str, queued: bool) -> None:
    assert password_queue.is_password_request({"method": method, "raw_path": path.encode()}) is queued


def test_a_mark_cannot_be_sent_from_outside(router: Web) -> None:
    answer = router.worker.start(
        "POST", "/login", b"username=x&password=y", Controlplane_Password_Queue_Full="1"
    ).result(15)

    assert answer.status == 403  # no CSRF token, and not 503


def test_hashes_are_djangos() -> None:
    ours, djangos = BackgroundPBKDF2(), PBKDF2PasswordHasher()
    encoded = ours.encode(PASSWORD, "salt", 1000)

    assert encoded == djangos.encode(PASSWORD, "salt", 1000)
    assert djangos.verify(PASSWORD, encoded)


def _people(count: int) -> None:
    encoded = PBKDF2PasswordHasher().encode(PASSWORD, "salt")
    for number in range(count):
        principals.create_principal(f"p{number}", kind=PrincipalKind.PERSON, actor=ACTOR)
    Principal.objects.filter(kind=PrincipalKind.PERSON).update(password=encoded)


def _log_in(web: str, name: str) -> tuple[int, Any]:
    form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": CSRF}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"cp-csrf={CSRF}"}
    return _ask(web, "POST", "/login", urllib.parse.urlencode(form), headers)


def _ask(
    web: str, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(web, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers
    finally:
        connection.close()


def _until(over: threading.Event, ask: Callable[[], int]) -> list[int]:
    statuses = []
    while not over.is_set():
        statuses.append(ask())
        time.sleep(0.02)
    return statuses


def _wait_for(url: str, explain: Callable[[], str]) -> None:
    until(lambda: is_reachable(url), 60, explain)


def test_a_flood_of_the_login_page_is_refused_and_other_addresses_are_not(live: System) -> None:
    """An address of its own, so that the tests beside this one still reach the page."""
    flood = http.client.HTTPConnection("127.0.0.1", live.port, timeout=30, source_address=("127.0.0.77", 0))
    statuses = []
    for _ in range(settings.LOGIN_REQUESTS_PER_ADDRESS + 1):
        flood.request("GET", "/login")
        answer = flood.getresponse()
        answer.read()
        statuses.append(answer.status)
    flood.close()

    assert statuses[:-1] == [200] * settings.LOGIN_REQUESTS_PER_ADDRESS
    assert (statuses[-1], answer.headers["Retry-After"]) == (429, "60")
    with urllib.request.urlopen(f"{live.url}/login", timeout=10) as page:
        assert page.status == 200
