"""`make up` as an operator meets it: start, crash, restart, stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.api_client import AGENT
from tests.support.beating_agent import BeatingAgent
from tests.support.launcher import Up
from tests.support.waiting import is_reachable, until

READY = "Ctrl-C stops everything."
QUICK = {"HEARTBEAT_INTERVAL_SECONDS": "1", "LEASE_SECONDS": "3", "SWEEP_INTERVAL_SECONDS": "1"}
ADS = """\
kind: project
id: ads
---
kind: overrides
project: ads
spec:
  taskResources:
    limits: {cpu: "2"}
"""


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
    """The promise is the lease (3 s here) and 15 s; a busy machine may take longer."""
    until(lambda: ask(up, "GET", f"agents/{agent_id}")["health_status"] == "unavailable", 60, pause=0.3)


def wait_until_ready(up: Up) -> None:
    """Without a restart of ours. The promise: 10 s after Postgres is back. A busy machine may take longer."""
    until(lambda: is_reachable(f"{up.url}/readyz"), 60, pause=0.1)


def wait_until_gone(up: Up, seconds: float = 30) -> dict[int, str]:
    deadline = time.monotonic() + seconds
    while (left := up.children()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One data folder for the starts of this module: the first one alone has to make the tables."""
    return tmp_path_factory.mktemp("up") / "data"


@pytest.fixture
def up(folder):
    running = Up(folder, "--no-demo", **QUICK)
    running.wait_for(READY)
    yield running
    running.stop(signal.SIGKILL)


def test_the_whole_life_of_an_installation(up, tmp_path):
    for name in ("admin.token", "admin.password", "secret.key", "run/environment"):
        assert (up.data_dir / name).stat().st_mode & 0o777 == 0o600
    assert f"{up.port}/api/v1/docs" in up.output
    assert (up.data_dir / "admin.token").read_text().strip() not in up.output

    # DEMO=0: neither the demo nor the exception for its webhooks.
    assert [ask(up, "GET", path)["items"] for path in ("agents", "scopes/projects", "sinks")] == [[], [], []]
    assert not any("manage.py demo" in words for words in up.children().values())
    assert "DEMO_RECEIVER" not in up.environment_of("controlplane.serving")

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
    assert (up.data_dir / "run" / "environment").exists()
    again = Up(up.data_dir, "--no-demo", port=up.port, DATA_DIR=str(up.data_dir), **QUICK)
    again.wait_for(READY)
    try:
        # The notes of the killed one do not mislead it, wherever it reads them.
        assert "Using the external service" not in again.output
        (override,) = ask(again, "GET", "overrides?project=ads")["items"]
        assert override["attributes"] == {"limits": {"cpu": "2"}}
        assert ask(again, "GET", f"agents/{agent_id}")["name"] == "a1"

        # A second start on the same folder or port is a clear error that starts nothing.
        same_folder, same_port = Up(up.data_dir), Up(tmp_path / "other", port=up.port)
        assert [same_folder.process.wait(60), same_port.process.wait(20)] == [1, 1]
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


@pytest.fixture
def documents(tmp_path) -> Path:
    """What the life above has left, and a project with overrides."""
    folder = tmp_path / "overrides"
    folder.mkdir()
    (folder / "ads.yaml").write_text(ADS)
    (folder / "installation.yaml").write_text("apiVersion: 1\nkind: project\nid: ml\nname: Learning\n")
    (folder / "ml.yaml").write_text(document("1"))
    return folder


def document(cpu: str) -> str:
    return f'kind: overrides\nproject: ml\nspec:\n  taskResources:\n    defaults: {{cpu: "{cpu}"}}\n'


def cpu(up: Up) -> str:
    answer = ask(up, "GET", "overrides/effective?project=ml&resource_type=task_resource")
    return str(answer["items"][0]["attributes"]["defaults"]["cpu"])


@pytest.mark.nightly
def test_files_are_in_force_at_start_reloaded_while_it_runs_and_kept_when_bad(folder, documents):
    settings = {"OVERRIDES_SOURCE": "file", "OVERRIDES_PATH": str(documents), "OVERRIDES_RELOAD_SECONDS": "1"}
    up = Up(folder, "--no-demo", **settings)
    try:
        up.wait_for(READY)
        follows_its_files(up, documents)
        a_second_ctrl_c_ends_all_patience(up)
    finally:
        up.stop(signal.SIGTERM)


def follows_its_files(up: Up, documents: Path) -> None:
    assert (cpu(up), ask(up, "GET", "overrides/source")["state"]) == ("1", "current")

    (documents / "ml.yaml").write_text(document("2"))
    until(lambda: cpu(up) == "2")

    (documents / "ml.yaml").write_text(document("3") + "oops")
    until(lambda: ask(up, "GET", "overrides/source")["state"] == "failing")
    source = ask(up, "GET", "overrides/source")
    assert (source["errors"][0]["file"], source["errors"][0]["line"]) == ("ml.yaml", 7)
    # All web processes give the same answer, because the overrides in force are in the database.
    assert {cpu(up) for _ in range(20)} == {"2"}

    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(up, "PUT", "overrides/task_resource?project=ml", {"attributes": {"defaults": {"cpu": "9"}}})
    assert (refused.value.code, json.load(refused.value)["code"]) == (409, "source_is_read_only")


def a_second_ctrl_c_ends_all_patience(up: Up) -> None:
    # A request that is never finished would keep the web server polite for a while.
    with socket.create_connection(("127.0.0.1", up.port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        up.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert up.stop(signal.SIGINT) < 2, "a second Ctrl-C ends all patience"
    assert up.process.returncode == 0
    assert up.children() == {}


def test_a_stop_in_the_middle_of_starting_leaves_nothing_behind(tmp_path):
    starting = Up(tmp_path / "data")
    starting.wait_for("Preparing the database")

    seconds = starting.stop(signal.SIGINT)

    assert starting.process.returncode == 0
    assert seconds < 10
    assert wait_until_gone(starting) == {}


@pytest.mark.parametrize(
    "moment", ["Starting postgres", pytest.param("Starting web", marks=pytest.mark.nightly)]
)
def test_a_stop_at_any_moment_of_a_start_leaves_nobody_behind(folder, tmp_path, moment):
    # Where there are tables, web is started sooner.
    starting = Up(folder if moment == "Starting web" else tmp_path / "data", "--no-demo")
    starting.wait_for(moment)
    time.sleep(0.2)

    assert starting.stop(signal.SIGTERM) < 10

    assert starting.process.returncode == 0
    assert starting.output.endswith("Stopped.\n")
    assert starting.children() == {}
