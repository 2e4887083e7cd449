"""cpctl about resources, against a running server, with an agent that fetches by HTTPS."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import yaml

from tests.support.api_client import make_project, token_for
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.cpctl_runner import Cpctl, Ran
from tests.support.played_agent import PlayedAgent
from tests.support.waiting import until

VM = {"service_type": "vm", "labels": {"tier": "dev"}, "spec": {"vcpu": {"count": 2}}}


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[Cpctl]:
    make_project()
    (tmp_path / "vm.yaml").write_text(yaml.safe_dump(VM))
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token_for("admin")) as cpctl:
        yield cpctl


def requested(cpctl: Cpctl, *ids: str) -> None:
    for resource_id in ids:
        ran = cpctl("resources", "apply", "-f", "vm.yaml", "--id", resource_id, "--yes")
        assert ran.code == 0, ran.err


def cells(ran: Ran) -> list[list[str]]:
    return [line.split() for line in ran.out.splitlines()]


def test_a_resource_is_requested_awaited_and_deleted(cpctl):
    agent = PlayedAgent("a1")
    requested(cpctl, "web-1")
    assert agent.fetch() == ["dcm.request.create"]

    awaiting = cpctl.start("resources", "wait", "web-1", "--for=state=running", "--timeout", "60")
    agent.answer("dcm.agent.creation-acknowledged", resource_id="web-1", epoch=1)
    agent.answer("dcm.status.vm", id="web-1", status="RUNNING", output_spec={"ip": "10.0.0.7"})
    _, errors = awaiting.communicate(timeout=60)
    assert (awaiting.returncode, errors.strip()) == (0, "web-1: state=running")
    row = cells(cpctl("resources", "get", "web-1", "--no-headers"))[0]
    assert (row[:3], row[4:6]) == (["web-1", "vm", "running"], ["a1", "RUNNING"])
    assert cpctl("resources", "get", "web-1", "--jq", ".output.ip").out == "10.0.0.7\n"
    assert cpctl("get", "resources", "--state", "running", "-o", "name").out == "web-1\n"

    again = cpctl("resources", "apply", "-f", "vm.yaml", "--id", "web-1", "--yes")
    assert (again.code, "running" in again.out) == (0, True)
    (cpctl.folder / "other.yaml").write_text(yaml.safe_dump({**VM, "spec": {"vcpu": {"count": 4}}}))
    differs = cpctl("resources", "apply", "-f", "other.yaml", "--id", "web-1", "--yes")
    assert (differs.code, "another spec" in differs.err) == (5, True)

    timeline = cpctl("resources", "assignments", "web-1").out
    assert "The provider reports RUNNING." in timeline
    assert cpctl("resources", "delete", "web-1", "--reason", "Gone", "--yes").code == 0
    assert agent.fetch() == ["dcm.request.delete"]
    agent.answer("dcm.agent.deletion-acknowledged", resource_id="web-1", epoch=1, status="DELETING")
    answered = threading.Timer(0.5, agent.answer, ["dcm.status.vm"], {"id": "web-1", "status": "DELETED"})
    answered.start()
    assert cpctl("wait", "resource", "web-1", "--for=state=deleted", "--timeout", "60").code == 0
    answered.join()
    assert cpctl("resources", "list").err == "No resources found.\n"
    assert "web-1" in cpctl("resources", "list", "--show-deleted").out
    assert "Gone" in cpctl("resources", "assignments", "web-1").out


def test_a_resource_that_fails_ends_the_wait_with_its_reason(cpctl):
    agent = PlayedAgent("a1")
    ran = cpctl.start(
        "resources", "apply", "-f", "vm.yaml", "--id", "web-1", "--yes", "--wait", "--timeout", "60"
    )
    until(agent.fetch, 60, lambda: f"no request: {ran.poll()}")
    agent.answer("dcm.agent.error", resource_id="web-1", epoch=1, error="NO_QUOTA", details="Ask for more.")

    out, err = ran.communicate(timeout=60)

    assert ran.returncode == 1
    assert "web-1 is failed" in err
    assert "NO_QUOTA: Ask for more." in err
    assert "failed" in out
    assert cpctl("resources", "wait", "nothing", "--for=state=running").code == 3
    assert cpctl("resources", "wait", "web-1", "--for=state=ready").code == 2
    assert cpctl("resources", "retry", "web-1", "--dry-run").code == 0
    assert cpctl("resources", "get", "web-1", "--jq", ".state").out == "failed\n"
    assert cpctl("resources", "retry", "web-1", "--reason", "More quota", "--yes").code == 0
    assert cpctl("resources", "wait", "web-1", "--for=state=running", "--timeout", "0.2").code == 6


def test_many_are_deleted_only_after_a_question(cpctl):
    requested(cpctl, "web-1", "web-2", "web-3")

    assert cpctl("resources", "delete", "--yes").code == 2
    assert cpctl("resources", "delete", "web-1", "-l", "tier=dev", "--yes").code == 2
    assert cpctl("resources", "delete", "-l", "tier=dev").code == 2
    tried = cpctl("resources", "delete", "-l", "tier=dev", "--dry-run", "-o", "name")
    assert (tried.code, tried.out.split()) == (0, ["web-1", "web-2", "web-3"])
    declined = cpctl.at_a_terminal("n\n", "resources", "delete", "-l", "tier=dev")
    assert (declined.code, "Delete 3 resources (web-1, web-2, web-3)?" in declined.err) == (1, True)
    assert len(cpctl("resources", "list", "-o", "name").out.split()) == 3

    some = cpctl("resources", "delete", "web-1", "nothing", "--yes")
    assert (some.code, "web-1" in some.out) == (3, True)
    assert cpctl("resources", "delete", "-l", "tier=dev", "--yes", "--wait", "--timeout", "30").code == 0
    assert cpctl("resources", "list").out == ""


def test_what_cannot_be_requested_is_refused_before_anything_is_created(cpctl):
    (cpctl.folder / "two.yaml").write_text(
        yaml.safe_dump_all([{**VM, "id": "web-1"}, {**VM, "id": "web-2", "project": "nowhere"}])
    )

    ran = cpctl("resources", "apply", "-f", "two.yaml", "--yes")

    assert (ran.code, "nowhere" in ran.err) == (3, True), ran.err
    assert cpctl("resources", "list", "-o", "name").out == ""
    assert cpctl("resources", "delete", "web-1", "--force", "--yes").code == 2
    assert cpctl("resources", "cancel", "--yes").code == 2


def test_it_is_explained_where_a_request_would_go(cpctl):
    PlayedAgent("a1")
    (cpctl.folder / "storage.yaml").write_text(yaml.safe_dump({"service_type": "storage", "spec": {}}))

    chosen = cpctl("resources", "explain", "-f", "vm.yaml")
    assert (chosen.code, chosen.out.startswith("a1: ")) == (0, True), chosen.err
    assert cpctl("resources", "explain", "-f", "storage.yaml").out.startswith("No agent: ")
    requested(cpctl, "web-1")
    assert cpctl("resources", "explain", "web-1", "--jq", ".verdicts[].agent").out == "a1\n"
    assert cpctl("resources", "explain").code == 2
