"""What the reference agent does with requests, against its own providers."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.waiting import until

FOLDER = str(ROOT / "examples" / "agent")
NAMES = (
    "work_file",
    "provider_calls",
    "statuses",
    "work",
    "provider_http",
    "slow_provider",
    "process_provider",
)


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Any]]:
    sys.path.insert(0, FOLDER)
    yield {name: importlib.import_module(name) for name in NAMES}
    sys.path.remove(FOLDER)
    for name in NAMES:
        sys.modules.pop(name, None)


class Site:
    """An agent's work without a control plane, and the provider of the type "slow"."""

    def __init__(self, modules: dict[str, Any], file: str) -> None:
        self.modules, self.file, self.is_healthy = modules, file, True
        self.provider = modules["slow_provider"].SlowProvider()
        self.server = modules["provider_http"].make_server(self.provider, 0)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.restart()

    def restart(self) -> None:
        memory = self.modules["work_file"].WorkFile(self.file)
        self.work = self.modules["work"].Work("a1", memory, self.find, 0.02)
        self.work.start()

    def find(self, service_type: str) -> tuple[str, bool] | None:
        return (self.url, self.is_healthy) if service_type == "slow" else None

    def request(self, kind: str, resource_id: str, epoch: int = 1, **spec: Any) -> None:
        ids = {
            "create": resource_id,
            "delete": f"{resource_id}.d{epoch}",
            "cancel": f"{resource_id}.c{epoch}",
        }
        data = {"resource_id": resource_id, "service_type": "slow", "epoch": epoch, "spec": spec}
        event = {"id": ids[kind], "type": f"dcm.request.{kind}", "data": data}
        self.work.accept([{"message_id": f"message-{time.monotonic_ns()}", "event": event}])

    def answers(self) -> list[str]:
        return [event["type"].removeprefix("dcm.") for event in list(self.work.memory.outgoing)]

    def said(self, *kinds: str) -> None:
        until(lambda: self.answers() == list(kinds), 60, self.answers)

    def end(self) -> None:
        self.work.stop(5)
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site(modules, tmp_path, monkeypatch) -> Iterator[Site]:
    monkeypatch.setattr(modules["provider_calls"], "FIRST_PAUSE", 0.01)
    running = Site(modules, str(tmp_path / "work.json"))
    yield running
    running.end()


CREATED, STATUS, DELETED = "agent.creation-acknowledged", "status.slow", "agent.deletion-acknowledged"
QUEUED = "agent.request-queued"


def test_a_resource_is_created_reported_and_deleted(site):
    site.request("create", "r1")
    site.said(CREATED, STATUS)
    created, status = site.work.memory.outgoing
    assert created["data"]["message_id"].startswith("message-")
    assert (status["data"]["status"], status["data"]["epoch"]) == ("RUNNING", 1)
    site.request("delete", "r1")
    site.said(CREATED, STATUS, DELETED, DELETED)
    assert [one["data"]["status"] for one in site.work.memory.outgoing[2:]] == ["DELETING", "DELETED"]
    assert not site.work.has_work()


def test_a_repeated_request_is_answered_again_and_done_once(site):
    for _ in range(2):
        site.request("create", "r1")
        until(lambda: not site.work.memory.accepted)
    assert site.answers().count(CREATED) == 2
    assert len(site.provider._resources) == 1


def test_requests_for_one_resource_stay_in_order(site):
    for number in range(20):
        site.request("create", f"r{number}", delay_seconds=0.02)
        site.request("delete", f"r{number}")
    until(lambda: site.answers().count(DELETED) == 40, 60, site.answers)
    assert site.answers().count(CREATED) == 20
    assert site.provider._resources == {}


def test_a_held_creation_and_its_deletion_annihilate(site):
    site.is_healthy = False
    site.request("create", "r1")
    site.said(QUEUED)
    site.request("delete", "r1")
    site.said(QUEUED, DELETED)
    assert site.work.memory.outgoing[1]["data"]["status"] == "DELETED"
    site.is_healthy = True
    assert not site.work.has_work()


def test_a_held_request_outlives_the_process_and_a_cancelled_one_does_not(site):
    site.is_healthy = False
    site.request("create", "stays")
    site.request("create", "goes")
    until(lambda: site.answers().count(QUEUED) == 2)
    site.request("cancel", "goes")
    site.said(QUEUED, QUEUED, "agent.cancel-acknowledged")
    site.work.stop(5)
    site.is_healthy = True
    site.restart()
    until(lambda: CREATED in site.answers() and STATUS in site.answers())
    # A creation that comes after its cancellation is dropped, and answered.
    site.request("create", "goes")
    until(lambda: site.answers().count("agent.cancel-acknowledged") == 2)
    assert list(site.provider._resources) == ["stays"]
    # Another attempt is not the one that was cancelled.
    site.request("create", "goes", epoch=2)
    until(lambda: site.answers().count(CREATED) == 2)


def test_held_requests_are_taken_up_after_a_disk_that_was_full(site, monkeypatch):
    site.is_healthy = False
    site.request("create", "stays")
    until(lambda: site.answers() == [QUEUED])
    failures = [OSError(28, "No space left on device")] * 3
    write = site.work.memory._write

    def fail_first() -> None:
        if failures:
            raise failures.pop()
        write()

    # Not in the middle of a change: the answer is in the memory before it is on the disk.
    with site.work.memory._lock:
        monkeypatch.setattr(site.work.memory, "_write", fail_first)
    site.is_healthy = True

    until(lambda: CREATED in site.answers())
    assert failures == []


def test_a_request_that_could_not_be_written_is_new_when_it_comes_again(site, monkeypatch):
    def fail() -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full, pytest.raises(OSError, match="No space"):
        full.setattr(site.work.memory, "_write", fail)
        site.request("create", "stays")

    assert site.work.memory.accepted == {}
    site.request("create", "stays")
    until(lambda: CREATED in site.answers())


def test_nothing_writes_the_memory_after_a_stop(site):
    site.request("create", "stays")
    until(lambda: CREATED in site.answers())
    assert site.work.stop(5) is True
    assert not site.work._poller.is_alive()


def test_a_request_under_way_cannot_be_cancelled_and_a_stopped_agent_finishes_it(site):
    site.request("create", "r1", delay_seconds=0.3)
    until(lambda: site.work._running)
    site.request("cancel", "r1")
    site.said("agent.cancel-rejected")
    assert site.work.stop(5)
    assert site.answers()[1] == CREATED
    site.request("create", "r2")
    assert [key for key in site.work.memory.accepted] == ["dcm.request.create r2#1"]
    site.restart()
    until(lambda: "r2" in site.provider._resources)


@pytest.mark.parametrize(
    ("order", "answer", "error"),
    [
        ({"fail_with": 503, "fail_times": 2}, CREATED, ""),
        ({"fail_with": 429, "fail_times": 1}, CREATED, ""),
        ({"fail_with": 503, "fail_times": 9}, "agent.error", "RETRY_EXHAUSTED"),
        ({"fail_with": 422, "fail_times": 1}, "agent.error", "NON_RETRYABLE_SP_ERROR"),
    ],
)
def test_failures_are_tried_again_if_that_may_help(site, order, answer, error):
    site.request("create", "r1", **order)
    until(site.answers)
    assert site.answers()[0] == answer
    assert site.work.memory.outgoing[0]["data"].get("error", "") == error


def test_a_type_without_a_provider_is_an_error(site, monkeypatch):
    monkeypatch.setattr(site.work, "find_provider", lambda service_type: None)
    site.request("create", "r1")
    site.said("agent.error")
    assert site.work.memory.outgoing[0]["data"]["error"] == "UNSUPPORTED_SERVICE_TYPE"


def test_a_process_outlives_its_provider_and_only_listed_commands_run(modules, tmp_path):
    first = modules["process_provider"].Processes(tmp_path)
    assert first.create("p1", {"command": "sleep", "seconds": 60}).status == 201
    again = first.create("p1", {"command": "sleep", "seconds": 60})
    assert (again.status, again.body["status"]) == (200, "RUNNING")
    second = modules["process_provider"].Processes(tmp_path)
    assert second.read("p1").body == again.body
    assert second.delete("p1").status == second.delete("p1").status == 204
    assert second.read("p1").status == 404
    for spec in (
        {"command": "rm"},
        {},
        {"command": "sleep", "seconds": -1},
        {"command": "sleep", "seconds": "x"},
    ):
        assert second.create("p2", spec).status == 422
