"""`make up` as an operator meets it: start, crash, restart, stop."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request

import pytest

from tests.support.api_client import AGENT
from tests.support.beating_agent import BeatingAgent
from tests.support.launcher import Up
from tests.support.waiting import is_reachable, until

QUICK = {"HEARTBEAT_INTERVAL_SECONDS": "1", "LEASE_SECONDS": "3", "SWEEP_INTERVAL_SECONDS": "1"}


def ask(up: Up, method: str, path: str, body: object = None) -> dict:
    token = (up.data_dir / "admin.token").read_text().strip()
    request = urllib.request.Request(
        f"{up.url}/api/v1/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def wait_until_unavailable(up: Up, agent_id: str) -> None:
    """Promise: within the lease (3 s here) and 15 s."""
    until(lambda: ask(up, "GET", f"agents/{agent_id}")["health_status"] == "unavailable", 3 + 15, pause=0.3)


def wait_until_ready(up: Up) -> None:
    """Promise: within 10 s after Postgres is back, without a restart of ours."""
    until(lambda: is_reachable(f"{up.url}/readyz"), 12, pause=0.1)


def wait_until_gone(up: Up, seconds: float = 5) -> dict[int, str]:
    deadline = time.monotonic() + seconds
    while (left := up.children()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


@pytest.fixture
def up(tmp_path):
    running = Up(tmp_path / "data", "--no-demo", **QUICK)
    running.wait_for("Ctrl-C stops everything")
    yield running
    running.stop(signal.SIGKILL)


def test_the_whole_life_of_an_installation(up, tmp_path):
    for name in ("admin.token", "admin.password", "secret.key", "run/environment"):
        assert (up.data_dir / name).stat().st_mode & 0o777 == 0o600
    assert f"{up.port}/api/v1/docs" in up.output
    assert (up.data_dir / "admin.token").read_text().strip() not in up.output

    # An agent falls silent: unavailable within lease + 15 s, once, and an event says so.
    ask(up, "POST", "scopes/projects", {"id": "ads"})
    ask(up, "PUT", "overrides/task_resource?project=ads", {"attributes": {"limits": {"cpu": "2"}}})
    heard = BeatingAgent(up.url, (up.data_dir / "admin.token").read_text().strip())
    heard.start()
    agent_id = ask(up, "POST", "agents", AGENT)["agent_id"]
    wait_until_unavailable(up, agent_id)
    events = ask(up, "GET", "events?type=agent.unavailable")["items"]
    assert [event["object_id"] for event in events] == [agent_id]

    # Killed, a process is started again and said so; an embedded service comes back where it was.
    for name in ("-A controlplane worker", "valkey-server", "postgres -D"):
        victim = next(pid for pid, words in up.children().items() if name in words)
        os.kill(victim, signal.SIGKILL)
    for name in ("worker", "valkey", "postgres"):
        up.wait_for(f"{name} exited with code -9. Restart in 0.5 s", 10)
    wait_until_ready(up)
    second = ask(up, "POST", "agents", {**AGENT, "name": "a2", "topic_name": "dcm.agent.a2"})["agent_id"]
    wait_until_unavailable(up, second)
    heard.stopping.set()

    # Kill -9 the whole tree: what was acknowledged is still there, and no orphan is in the way.
    up.stop(signal.SIGKILL)
    again = Up(up.data_dir, "--no-demo", port=up.port, **QUICK)
    again.wait_for("Ctrl-C stops everything")
    try:
        (override,) = ask(again, "GET", "overrides?project=ads")["items"]
        assert override["attributes"] == {"limits": {"cpu": "2"}}
        assert ask(again, "GET", f"agents/{agent_id}")["name"] == "a1"

        # A second start on the same folder or port is a clear error that starts nothing.
        same_folder, same_port = Up(up.data_dir), Up(tmp_path / "other", port=up.port)
        assert [same_folder.process.wait(20), same_port.process.wait(20)] == [1, 1]
        assert "in use by another `make up`" in same_folder.output
        assert (
            f"Port {up.port} is already in use. Choose another port: make up PORT={up.port + 1}"
            in same_port.output
        )
    finally:
        seconds = again.stop(signal.SIGTERM)
    assert again.process.returncode == 0
    assert seconds < 10
    assert wait_until_gone(again) == {}
    assert not (up.data_dir / "run" / "environment").exists()


def test_a_stop_in_the_middle_of_starting_leaves_nothing_behind(tmp_path):
    starting = Up(tmp_path / "data")
    starting.wait_for("Preparing the database")

    seconds = starting.stop(signal.SIGINT)

    assert starting.process.returncode == 0
    assert seconds < 10
    assert wait_until_gone(starting) == {}


@pytest.mark.parametrize(
    ("setting", "address"),
    [("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/x"), ("NATS_URL", "nats://127.0.0.1:1")],
)
def test_a_service_of_your_own_that_does_not_answer_is_named(tmp_path, setting, address):
    starting = Up(tmp_path / "data", **{setting: address})

    assert starting.process.wait(40) == 1
    assert "Traceback" not in starting.output
    assert setting in starting.output.splitlines()[-2] + starting.output.splitlines()[-1]
