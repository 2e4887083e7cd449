"""Requests that wait for the end of an operation at the running server."""

from __future__ import annotations

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from registry.dispatch.models import ResourceRow
from tests.support.api_client import token_for


@pytest.fixture
def ask(live: Any) -> Any:
    token = token_for("admin")

    def call(method: str, path: str, body: Any = None, prefer: str = "") -> tuple[Any, Any]:
        request = urllib.request.Request(
            f"{live.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                **({"Prefer": prefer} if prefer else {}),
            },
        )
        with urllib.request.urlopen(request, timeout=25) as response:
            return response.headers, json.loads(response.read())

    return call


@pytest.fixture
def disk(ask: Any) -> str:
    ask("POST", "resources?id=disk", {"service_type": "storage", "spec": {}})
    return "operations/resource.disk"


def test_the_answer_comes_as_soon_as_the_operation_is_done(ask, disk):
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(ask, "GET", disk, None, "wait=20")
        time.sleep(1)
        assert not waiting.done()
        started_at = time.monotonic()
        ask("POST", f"{disk}:cancel")
        headers, operation = waiting.result()

    assert time.monotonic() - started_at < 10
    assert (operation["state"], headers["Preference-Applied"]) == ("cancelled", "wait=20")
    assert headers["Retry-After"] is None


def test_a_wait_in_vain_ends_in_time_with_what_is_true_then(ask, disk):
    with ThreadPoolExecutor(1) as thread:
        started_at = time.monotonic()
        waiting = thread.submit(ask, "GET", disk, None, "wait=2")
        time.sleep(0.5)
        # Without an event, as progress is.
        ResourceRow.objects.update(state="provisioning")
        headers, operation = waiting.result()

    assert 2 <= time.monotonic() - started_at < 8
    assert (operation["state"], operation["done"]) == ("running", False)
    assert headers["Retry-After"]
    assert headers["Preference-Applied"] == "wait=2"


def test_an_event_that_ends_nothing_does_not_end_the_wait(ask, disk):
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(ask, "GET", disk, None, "wait=20")
        time.sleep(0.5)
        # No agent is eligible, and an event reports that.
        ask("POST", "resources/disk:retry")
        time.sleep(2)
        assert not waiting.done()
        ask("POST", f"{disk}:cancel")
        assert waiting.result()[1]["done"] is True
