"""cpctl about agents and what teams publish for them, against a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from controlplane.access.principals import create_token
from cpctl.client import Api as Client
from cpctl.contexts import Context
from tests.support.api_client import ACTOR, AGENT, Api, make_principal, make_project, token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.cpctl_runner import Cpctl
from tests.support.waiting import until

CONFIG = """\
plugins:
  agent-service:
    agents:
      acme-sensor:
        endpoint: acme-sensor.acme.svc.cluster.local:8000
        insecure: true
    supportedTaskTypes:
    - acme_sensor
"""


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[CpctlInProcess]:
    make_project()
    ada = make_principal("admin", name="ada")
    _, token = create_token(ada, name="test", expires_at=None, actor=ACTOR)
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token) as cpctl:
        yield cpctl


def words(cpctl: Cpctl, *arguments: str) -> list[list[str]]:
    """What a table says, word by word, without its titles."""
    ran = cpctl(*arguments, "--no-headers")
    assert ran.code == 0, ran.err
    return [line.split() for line in ran.out.splitlines()]


def wait_for_text(cpctl: Cpctl, text: str, *arguments: str) -> None:
    """What is published while a recompute runs takes effect with the next one."""
    until(lambda: text in cpctl(*arguments).out, explain=lambda: cpctl(*arguments))


def test_an_agent_is_drained_resumed_and_sent_away(cpctl):
    Api(cpctl.token).post("agents", {**AGENT, "labels": {"team": "ml"}})

    tried = cpctl.process("agents", "drain", "a1", "--reason", "Kernel", "--dry-run")
    assert (tried.code, "draining" in tried.out) == (0, True)
    assert tried.err.endswith("Dry run: nothing was changed.\n")
    assert cpctl("agents", "drain", "a1", "--reason", "Kernel").code == 2
    assert words(cpctl, "agents", "list", "-l", "team=ml")[0][2] == "ready"

    assert cpctl("agents", "drain", "a1", "--reason", "Kernel", "--yes", "-m", "Night shift").code == 0
    assert words(cpctl, "agents", "list", "--state", "draining")[0][0] == "a1"
    assert words(cpctl, "agents", "list", "-l", "team!=ml") == []
    rows = words(cpctl, "audit", "--object-type", "agent", "--actor", "ada")
    assert {row[2] for row in rows} == {"agent.registered", "agent.changed"}
    assert words(cpctl, "audit", "--actor", "nobody") == []

    assert cpctl("agents", "resume", "a1", "--yes").code == 0
    assert cpctl("agents", "remove", "a1", "--yes").code == 5
    assert cpctl("agents", "retire", "a1", "--yes").code == 0
    assert cpctl("agents", "remove", "a1", "--yes", "--dry-run").code == 0
    assert cpctl("agents", "remove", "a1", "--yes").code == 0
    assert cpctl("agents", "show", "a1").code == 3


def test_a_reachability_test_waits_for_a_heartbeat(cpctl):
    registered = Api(cpctl.token).post("agents", {**AGENT, "service_types": []})
    path = f"agents/{registered.json()['agent_id']}/heartbeat"
    assert words(cpctl, "agents", "test", "a1", "--timeout", "0")[0][:2] == ["heartbeats", "reachable"]

    silent = cpctl("agents", "test", "a1", "--timeout", "1")
    assert (silent.code, "a1 is not known to be reachable." in silent.err) == (1, True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cpctl.process, "agents", "test", "a1", "-o", "json")
        while not waiting.done():
            Api(cpctl.token).put(path, {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0})
            wait([waiting], timeout=0.3)
    tested = waiting.result()
    assert (tested.code, json.loads(tested.out)["finished"]) == (0, True)


def test_several_agents_are_drained_by_name(cpctl):
    for name in ("a1", "a2", "a3"):
        Api(cpctl.token).post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"})
    command = ("agents", "drain", "a1", "a2", "--reason", "Kernel", "--allow-last-agents")

    assert "Drain 2 agents" in cpctl(*command, "--dry-run").err
    assert cpctl("agents", "drain", "a1", "a9", "--reason", "Kernel", "--dry-run").code == 3
    assert cpctl(*command, "-l", "team=ml", "--dry-run").code == 2
    assert cpctl(*command, "--yes").code == 0
    drained = ("agents", "list", "--state", "draining", "--no-headers")
    until(lambda: {row[0] for row in words(cpctl, *drained)} == {"a1", "a2"})


def test_a_join_token_lets_an_agent_in_that_waits_for_approval(cpctl):
    made = ("agents", "join-tokens", "create", "eu", "--name-pattern", "a*", "--needs-approval", "--yes")
    secret = cpctl(*made).out.strip()
    joined = Api(secret).post("agents:join", AGENT)
    assert joined.status_code == 201, joined.content
    assert words(cpctl, "agents", "list")[0][2] == "registered"

    assert cpctl("agents", "approve", "a1", "--yes").code == 0
    assert words(cpctl, "agents", "list")[0][2] == "ready"
    rotated = cpctl("agents", "rotate", "a1", "--yes").out.strip()
    agent = joined.json()["agent"]["agent_id"]
    beat = Api(rotated).put(
        f"agents/{agent}/heartbeat", {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    )
    assert beat.status_code == 200

    (row,) = words(cpctl, "agents", "join-tokens", "list")
    assert row[1:4] == ["eu", "a*", "0"]
    assert secret not in cpctl("agents", "join-tokens", "list", "-o", "json").out
    assert cpctl("agents", "join-tokens", "revoke", row[0], "--yes").code == 0
    assert words(cpctl, "agents", "join-tokens", "list")[0][-1] == "yes"


def test_a_guard_is_overruled(cpctl):
    Api(cpctl.token).post("agents", AGENT)

    ran = cpctl("agents", "guards", "overrule", "engage", "prod", "--seconds", "60", "--yes")

    assert ran.code == 0, ran.err
    assert [row[:2] for row in words(cpctl, "agents", "guards", "list", "--engaged")] == [["prod", "yes"]]
    assert cpctl("agents", "guards", "overrule", "perhaps", "--yes").code == 2


def test_task_types_and_who_serves_them(cpctl):
    Api(cpctl.token).post("agents", {**AGENT, "task_types": [{"name": "spark", "version": "v1"}]})

    assert words(cpctl, "task-types", "list") == [["spark", "v1", "1", "1"]]
    assert words(cpctl, "task-types", "show", "spark") == [["a1", "prod", "v1", "ready"]]
    assert cpctl("task-types", "show", "nothing").code == 3


def test_a_configuration_is_checked_previewed_published_and_taken_back(cpctl):
    Api(cpctl.token).put("data-planes/eu-1", {"release": "1.16.0"})
    (cpctl.folder / "a.yaml").write_text(CONFIG)
    (cpctl.folder / "wrong.yaml").write_text(CONFIG.replace(":8000", ":0"))
    document = ("agent-configs", "publish", "acme/sensors", "-f")

    wrong = cpctl("agent-configs", "validate", "acme/sensors", "-f", "wrong.yaml")
    assert (wrong.code, "wrong.yaml:5:" in wrong.out) == (2, True)
    assert cpctl("agent-configs", "validate", "acme/sensors", "-f", "a.yaml").code == 0
    assert cpctl("agent-configs", "validate", "acme/sensors", "-f", ".").code == 2
    result = cpctl("agent-configs", "preview", "acme/sensors", "-f", "a.yaml")
    assert (result.code, "  + agent acme-sensor" in result.out) == (1, True)
    assert cpctl(*document, "a.yaml", "--yes", "--dry-run").code == 0
    assert words(cpctl, "agent-configs", "list") == []

    assert cpctl(*document, "a.yaml", "--yes").code == 0
    assert cpctl("agent-configs", "preview", "acme/sensors", "-f", "a.yaml").code == 0
    assert cpctl(*document, "wrong.yaml", "--yes").code == 2
    assert words(cpctl, "agent-configs", "list", "--team", "acme")[0][:5] == [
        "acme",
        "sensors",
        "1",
        "1",
        "yes",
    ]
    assert cpctl("wait", "agent-config", "acme/sensors", "--for=valid=true").code == 0
    assert cpctl("wait", "data-plane", "eu-1", "--for=applied_revision=9", "--timeout", "0.2").code == 6
    wait_for_text(cpctl, "Programmed", "agent-configs", "status", "acme/sensors")
    assert cpctl("agent-configs", "get", "acme/sensors").out == CONFIG
    wait_for_text(cpctl, "acme_sensor", "agent-configs", "bundle", "get", "eu-1")

    (cpctl.folder / "more.yaml").write_text(CONFIG + "    - acme_query\n")
    assert cpctl(*document, "more.yaml", "--yes").code == 0
    wait_for_text(cpctl, "acme_query", "agent-configs", "bundle", "get", "eu-1")
    compared = cpctl("agent-configs", "bundle", "diff", "eu-1", "1")
    assert (compared.code, "+ task type acme_query" in compared.out) == (1, True)
    assert cpctl("agent-configs", "bundle", "diff", "eu-1", "2", "2").code == 0

    assert cpctl("agent-configs", "delete", "acme/sensors", "--yes").code == 0
    assert cpctl("agent-configs", "get", "acme/sensors").code == 3
    assert cpctl("agent-configs", "get", "acme").code == 2
    assert words(cpctl, "agent-configs", "planes", "list")[0][0] == "eu-1"
    assert cpctl("agent-configs", "planes", "approve", "eu-1", "--yes").code == 2


def test_a_name_in_dispute_is_listed_and_handed_over(cpctl):
    Api(cpctl.token).put("data-planes/eu-1", {"release": "1.16.0"})
    (cpctl.folder / "a.yaml").write_text(CONFIG)
    (cpctl.folder / "b.yaml").write_text(CONFIG.replace("acme-sensor", "other-sensor"))
    assert cpctl("agent-configs", "publish", "acme/sensors", "-f", "a.yaml", "--yes").code == 0
    assert cpctl("agent-configs", "publish", "other/agents", "-f", "b.yaml", "--yes").code == 0

    conflicts = ("agent-configs", "conflicts", "--team")
    wait_for_text(cpctl, "task_type acme_sensor to acme", *conflicts, "other")
    arguments = ("agent-configs", "hand-over", "task_type", "acme_sensor", "--from", "acme", "--to", "other")
    assert cpctl(*arguments, "--yes").code == 0
    assert "task_type acme_sensor to other" in cpctl(*conflicts, "acme").out
    assert {row[2] for row in words(cpctl, "agent-configs", "claims", "--team", "other")} >= {"acme_sensor"}
    assert cpctl("agent-configs", "release", "task_type", "acme_sensor", "--team", "other", "--yes").code == 0


def test_a_team_moves_in_and_an_agent_comes_and_goes(cpctl):
    (cpctl.folder / "tra.yaml").write_text('project: shop\ndomain: production\ndefaults:\n  cpu: "2"\n')
    arguments = ("import", "flytectl-files", "tra.yaml", "--create-projects", "--manager", "git")
    reviewed = cpctl(*arguments, "--dry-run").out
    assert "+ task_resource project=shop domain=production\n    + /defaults/cpu: 2\n" in reviewed
    assert cpctl(*arguments, "--yes").code == 0

    place = ("-p", "shop", "-d", "production", "-w", "train")
    ladder = cpctl("explain", "effective", *place, "taskResources.defaults.cpu").out
    assert "→ project=shop domain=production" in ladder
    (revision, *_) = cpctl("history", "-o", "name").lines
    back = cpctl(
        "rollback", "--to-revision", str(int(revision) - 1), "-p", "shop", "--manager", "git", "--yes"
    )
    assert back.code == 0, back.err
    assert cpctl("explain", "effective", *place, "taskResources.defaults.cpu").code == 3

    made = ("agents", "join-tokens", "create", "eu", "--name-pattern", "a*", "--yes")
    guest = Client(Context("", cpctl.server, cpctl(*made).out.strip()))
    joined = guest.post("agents:join", AGENT).json()
    assert words(cpctl, "agents", "list")[0][2] == "ready"
    # The lease of this system is three seconds, and it sends no heartbeat.
    with BeatingAgent(cpctl.server, token_for("agent")):
        assert cpctl("wait", "agent", "a1", "--for=state=unavailable", "--timeout", "30").code == 0
    own = Client(Context("", cpctl.server, joined["token"]))
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    own.send("PUT", f"agents/{joined['agent']['agent_id']}/heartbeat", beat)
    assert cpctl("wait", "agent", "a1", "--for=state=ready", "--timeout", "30").code == 0
    own_id = joined["agent"]["agent_id"]
    reasons = [row[2] for row in words(cpctl, "events", "--object-type", "agent", "--object-id", own_id)]
    # The newest first.
    assert reasons == ["agent.ready", "agent.unavailable", "agent.registered"]
