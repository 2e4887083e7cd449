"""`cpctl effective --watch` against a running server: changes, what is no change, and how it ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from cpctl.exits import Exit
from tests.support.api_client import Api, make_project, token_for
from tests.support.cpctl_in_process import CpctlInProcess

HERE = ("-p", "flytesnacks", "-d", "development", "--type", "task_resource")
PLACE = "project=flytesnacks&domain=development"


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[CpctlInProcess]:
    make_project()
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token_for("admin")) as cpctl:
        yield cpctl


def put(cpctl: CpctlInProcess, place: str, cpu: str) -> None:
    """Set a limit. Fails if it is refused: nobody waits for a change that was not made."""
    body = {"attributes": {"limits": {"cpu": cpu}}}
    answer = Api(cpctl.token).put(f"overrides/task_resource?{place}", body, If_Match="*")
    if answer.status_code == 412:
        answer = Api(cpctl.token).put(f"overrides/task_resource?{place}", body)
    assert answer.status_code in (200, 201), answer.content


class Watching:
    """A watch as a process. Its lines are read in time, or the test fails."""

    def __init__(self, cpctl: CpctlInProcess, *arguments: str) -> None:
        self.process = cpctl.start("effective", "--watch", "--timeout", "20", *HERE, *arguments)

    def line(self) -> str:
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append(self.process.stdout.readline()))
        reader.start()
        reader.join(30)
        assert not reader.is_alive(), "the watch prints nothing, and does not end"
        return read[0].rstrip("\n")

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.communicate()


def test_values_are_shown_and_then_what_changes(cpctl):
    put(cpctl, PLACE, "1")
    with Watching(cpctl) as watching:
        assert watching.line().split() == ["TYPE", "FIELD", "VALUE", "SET", "BY"]
        assert watching.line().split()[:3] == ["task_resource", "/limits/cpu", "1"]

        put(cpctl, PLACE, "2")
        changed = watching.line()
        # Shadowed at the scope: an answer, but no change of a value.
        put(cpctl, "project=flytesnacks", "9")
        put(cpctl, PLACE, "3")
        next_line = watching.line()

    assert changed.startswith("~ task_resource /limits/cpu: 1 → 2   project=flytesnacks domain=development")
    assert next_line.startswith("~ task_resource /limits/cpu: 2 → 3")


def test_json_is_the_answer_of_the_api_each_on_a_line(cpctl):
    with Watching(cpctl, "-o", "json", "--once") as watching:
        assert json.loads(watching.line())["items"] == []
        put(cpctl, PLACE, "1")
        changed = json.loads(watching.line())
        code = watching.process.wait(30)

    assert changed["items"][0]["attributes"] == {"limits": {"cpu": "1"}}
    assert code == Exit.OK


def test_it_ends_with_6_after_the_timeout(cpctl):
    put(cpctl, PLACE, "1")
    ran = cpctl("effective", "--watch", "--once", "--timeout", "1", *HERE)

    assert (ran.code, ran.err) == (Exit.TIMEOUT, "error: Timed out after 1 s: no value has changed.\n")
    assert len(ran.out.splitlines()) == 2
    assert "SET BY" not in cpctl("effective", *HERE, "--no-headers").out
    assert cpctl("effective", *HERE, "-o", "name").out == "task_resource /limits/cpu\n"


def test_what_cannot_be_watched_is_refused_at_once(cpctl):
    assert cpctl("effective", "--once").code == Exit.USAGE
    assert cpctl("effective", "--watch", "--as-of", "1").code == Exit.USAGE
    assert cpctl("effective", "--watch", "-p", "nope").code == Exit.NOT_FOUND
    stranger = CpctlInProcess(cpctl.folder, cpctl.server, "cp_pat_wrong")
    assert stranger("effective", "--watch").code == Exit.AUTH
