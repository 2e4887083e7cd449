"""cpctl against a running server: what it prints, and how it ends, as a process and at a terminal too."""

from __future__ import annotations

import json
import shlex
import signal
import stat
import sys
import tarfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from controlplane.access.principals import create_token
from controlplane.members.models import Member
from controlplane.scopes import Scope
from cpctl.client import Api as Client
from cpctl.contexts import Context
from cpctl.exits import Exit
from overrides.models import OverrideVersion
from tests.support.api_client import ACTOR, AGENT, Api, make_principal, make_project, token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.cpctl_runner import Cpctl
from tests.support.waiting import until

DOCUMENT = """\
kind: overrides
project: flytesnacks
domain: development
spec:
  taskResources:
    defaults: {cpu: "1"}
  workflowExecutionConfig:
    maxParallelism: 40
"""
HERE = ("-p", "flytesnacks", "-d", "development")


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[CpctlInProcess]:
    make_project()
    ada = make_principal("admin", name="ada")
    _, token = create_token(ada, name="test", expires_at=None, actor=ACTOR)
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token) as cpctl:
        yield cpctl


@pytest.fixture
def applied(cpctl: CpctlInProcess) -> CpctlInProcess:
    """The document stands."""
    (cpctl.folder / "a.yaml").write_text(DOCUMENT)
    assert cpctl("apply", "-f", "a.yaml", "--yes", "-m", "First").code == 0
    return cpctl


def test_overrides_as_a_table_without_titles_and_as_names(applied):
    titles, *rows = applied("get", "overrides").lines
    scope = "SCOPE                                 "
    assert titles == f"TYPE                        {scope}   VERSION   CHANGED BY   CHANGED AT"
    # Both came in one transaction: their order is anybody's.
    assert sorted(rows) == [
        "task_resource               project=flytesnacks domain=development   1         ada          <time>",
        "workflow_execution_config   project=flytesnacks domain=development   1         ada          <time>",
    ]
    assert "TYPE" not in applied("get", "overrides", "--no-headers").out
    assert sorted(applied("get", "overrides", "-o", "name").lines) == [
        "task_resource project=flytesnacks domain=development",
        "workflow_execution_config project=flytesnacks domain=development",
    ]


def test_json_and_yaml_are_what_the_api_says(applied):
    overrides = Api(applied.token).get("overrides").json()["items"]

    assert json.loads(applied("get", "overrides", "-o", "json").out) == {"items": overrides}
    assert yaml.safe_load(applied("get", "overrides", "-o", "yaml").out) == {"items": overrides}
    document = json.loads(applied("describe", "override", "task_resource", *HERE, "-o", "json").out)
    assert document in overrides
    assert document["resource_type"] == "task_resource"


def test_diff_ends_with_0_1_and_2_or_more(cpctl):
    changes = cpctl("diff", "-f", "-", stdin=DOCUMENT)
    assert changes.code == 1
    assert changes.lines == [
        "+ task_resource project=flytesnacks domain=development",
        "    + /defaults/cpu: 1",
        "+ workflow_execution_config project=flytesnacks domain=development",
        "    + /max_parallelism: 40",
        "",
        "Effective values that change:",
        "  task_resource project=flytesnacks domain=development",
        "      + /defaults/cpu: 1",
        "  workflow_execution_config project=flytesnacks domain=development",
        "      + /max_parallelism: 40",
        "2 created, 0 updated, 0 deleted, 0 unchanged; effective values change at 1 scope.",
    ]
    assert Api(cpctl.token).get("overrides").json()["items"] == []

    assert cpctl("apply", "-f", "-", "--yes", stdin=DOCUMENT).code == 0
    assert cpctl("diff", "-f", "-", stdin=DOCUMENT).code == 0
    assert cpctl("diff", "-f", "-", stdin="kind: [").code == 2
    assert cpctl("diff", "-f", "missing.yaml").code == 2


def test_what_is_exported_differs_in_nothing_and_is_the_same_twice(applied):
    assert applied("export", "-o", "one.yaml").code == 0
    assert applied("export", "-o", "two.yaml").code == 0

    assert (applied.folder / "one.yaml").read_bytes() == (applied.folder / "two.yaml").read_bytes()
    assert applied("diff", "-f", "one.yaml", "--manager", "git").code == 0


def test_the_document_of_a_scope_goes_to_a_file_and_back(applied):
    workflow = (*HERE, "--workflow", "train")
    assert applied("get", "overrides", *workflow, "-o", "train.yaml").code == 0
    document = yaml.safe_load((applied.folder / "train.yaml").read_text())
    assert document["workflow"] == "train"
    assert document["spec"]["taskResources"] == {
        "inherited": True,
        "source": "project-domain",
        "defaults": {"cpu": "1"},
    } | {key: document["spec"]["taskResources"][key] for key in ("source",)}

    assert applied("diff", "-f", "train.yaml").code == 0


def test_a_mistake_names_its_file_and_line(cpctl):
    folder = cpctl.folder / "set"
    folder.mkdir()
    (folder / "a.yaml").write_text(DOCUMENT)
    (folder / "b.yaml").write_text(DOCUMENT.replace("development", "staging").replace('"1"', '"lots"'))

    ran = cpctl("apply", "-f", "set", "--yes")

    assert ran.code == 2
    assert "set/b.yaml:6:" in ran.err
    assert "request " in ran.err


def test_apply_asks_at_a_terminal_and_without_one_wants_yes(cpctl):
    (cpctl.folder / "a.yaml").write_text(DOCUMENT)

    silent = cpctl("apply", "-f", "a.yaml")
    assert (silent.code, "add --yes" in silent.err) == (2, True)
    declined = cpctl.at_a_terminal("n\n", "apply", "-f", "a.yaml")
    assert (declined.code, "Nothing was changed." in declined.err) == (1, True)
    assert cpctl.at_a_terminal("y\n", "--no-input", "apply", "-f", "a.yaml").code == 2
    assert Api(cpctl.token).get("overrides").json()["items"] == []

    assert cpctl.at_a_terminal("y\n", "apply", "-f", "a.yaml").code == 0
    assert len(Api(cpctl.token).get("overrides").json()["items"]) == 2


def test_apply_keeps_what_a_document_leaves_out_and_replace_takes_it_away(applied):
    less = yaml.safe_load(DOCUMENT)
    del less["spec"]["taskResources"]
    less["spec"]["workflowExecutionConfig"]["maxParallelism"] = 50
    (applied.folder / "less.yaml").write_text(yaml.safe_dump(less))

    assert applied("apply", "-f", "less.yaml", "--yes").code == 0
    assert len(applied("get", "overrides", "-o", "name").lines) == 2
    tried = applied("apply", "-f", "less.yaml", "--replace", "--dry-run", "server")
    assert (tried.code, "-    defaults:" in tried.out) == (0, True)
    assert applied("apply", "-f", "less.yaml", "--replace").code == 2
    assert applied("apply", "-f", "less.yaml", "--replace", "--prune", "--manager", "git").code == 2
    assert len(applied("get", "overrides", "-o", "name").lines) == 2

    ran = applied("apply", "-f", "less.yaml", "--replace", "--yes", "-m", "Less")
    assert ran.code == 0, ran.err
    (left,) = json.loads(applied("get", "overrides", "-o", "json").out)["items"]
    assert left["attributes"] == {"max_parallelism": 50}
    other = "kind: project\nid: x\n"
    assert applied("apply", "-f", "-", "--replace", "--yes", stdin=other).code == 2


def test_production_wants_its_name_typed(cpctl):
    (cpctl.folder / "a.yaml").write_text(DOCUMENT)
    (cpctl.folder / "token").write_text(cpctl.token)
    signed = cpctl("login", cpctl.server, "--name", "prod", "--production", "--token-file", "token")
    assert signed.code == 0
    here = Cpctl(cpctl.folder)

    assert here.at_a_terminal("y\n", "apply", "-f", "a.yaml").code == 1
    assert here.at_a_terminal("prod\n", "apply", "-f", "a.yaml").code == 0


def test_login_keeps_the_token_for_its_owner_alone_and_never_shows_it(cpctl):
    refused = cpctl("login", cpctl.server, "--token-file", "-", stdin="cp_pat_wrong\n")
    assert refused.code == 4
    folder = cpctl.folder / "config" / "config.json"
    assert not folder.exists()

    signed = cpctl("login", cpctl.server, "--token-file", "-", stdin=cpctl.token)
    here = CpctlInProcess(cpctl.folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o600
    outputs = [signed, here("config", "get-contexts", "-o", "json"), here("--debug", "whoami")]
    assert [ran.code for ran in outputs] == [0, 0, 0]
    assert not any(cpctl.token in ran.out + ran.err for ran in outputs)

    again = here("--context", "night", "login", cpctl.server, "--token-file", "-", stdin=cpctl.token)
    assert (again.code, "Context 'night' saved" in again.err) == (0, True)

    # A token is of one server: it does not travel to another.
    assert here("--server", cpctl.server.replace("127.0.0.1", "localhost"), "whoami").code == 4
    assert here("logout").code == 0
    assert here("whoami").code == 4


def test_contexts_are_made_used_and_deleted(tmp_path):
    here = CpctlInProcess(tmp_path)
    assert here("whoami").code == 2
    for name in ("one", "two"):
        assert here("config", "set-context", name, "--server", f"http://{name}.example").code == 0
    assert here("config", "use-context", "two").code == 0
    assert here("config", "current-context").out == "two\n"
    assert here("config", "get-contexts").out == (
        "CURRENT   NAME   SERVER               PRODUCTION   TOKEN\n"
        "          one    http://one.example   no           no\n"
        "*         two    http://two.example   no           no\n"
    )
    assert here("--context", "one", "config", "current-context").out == "one\n"
    assert here("config", "delete-context", "two").code == 0
    missing = here("config", "use-context", "two")
    assert (missing.code, "Contexts: one." in missing.err) == (2, True)


EXIT_CODES = {
    ("get", "agents", "nobody"): 3,
    ("get", "projects", "nothing"): 3,
    ("get", "overrides", "task_resource", *HERE): 3,
    ("get", "nonsense"): 2,
    ("get", "agents", "-p", "flytesnacks"): 2,
    ("get", "overrides", "-w", "train", "-o", "f.yaml"): 2,
    ("nonsense",): 2,
    ("wait", "agent", "a1", "--for=state=unknown", "--timeout", "0.2"): 6,
    ("wait", "agent", "a1", "--for=health_status=ready"): 0,
    ("can-i", "override.write"): 0,
}


def test_exit_codes(cpctl):
    Api(cpctl.token).post("agents", AGENT)

    ran = {arguments: cpctl.process(*arguments) for arguments in EXIT_CODES}

    assert {arguments: ended.code for arguments, ended in ran.items()} == EXIT_CODES
    assert not any("Traceback" in ended.err for ended in ran.values())


def test_who_may_not_ends_with_4_and_whom_nobody_knows_too(cpctl):
    viewer = CpctlInProcess(
        cpctl.folder, cpctl.server, token_for("viewer", scope=Scope(project="flytesnacks"))
    )

    assert viewer("apply", "-f", "-", "--yes", stdin=DOCUMENT).code == 4
    assert viewer("can-i", "override.write", *HERE).code == 4
    assert CpctlInProcess(cpctl.folder, cpctl.server)("whoami").code == 4


def test_a_conflict_ends_with_5_and_names_the_manager(cpctl):
    assert cpctl("apply", "-f", "-", "--yes", "--manager", "git", stdin=DOCUMENT).code == 0

    ran = cpctl("apply", "-f", "-", "--yes", "--manager", "cost", stdin=DOCUMENT.replace("40", "50"))

    assert (ran.code, "git" in ran.err, "--force" in ran.err) == (5, True, True)
    assert cpctl("diff", "-f", "-", "--manager", "cost", stdin=DOCUMENT.replace("40", "50")).code == 5


def test_no_colour_unless_somebody_looks_or_says_so(cpctl):
    def coloured(*before: str, **environment: str) -> bool:
        return "\x1b[" in cpctl(*before, "diff", "-f", "-", stdin=DOCUMENT, **environment).out

    assert not coloured()
    assert coloured("--color", "always")
    assert coloured("--color", "always", NO_COLOR="1")
    assert not coloured("--color", "never")


def test_explain_shows_every_rung_of_one_value(applied):
    api = Api(applied.token)
    api.put("overrides/workflow_execution_config", {"attributes": {"max_parallelism": 25}})

    ran = applied("explain", "effective", "workflowExecutionConfig.maxParallelism", *HERE, "-w", "train")

    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert (
        ran.out.replace(today, "<day>")
        == """\
workflow_execution_config /max_parallelism
    global                                                  25   shadowed less specific; v1 by ada <day>
    domain=development                                      -
    project=flytesnacks                                     -
  → project=flytesnacks domain=development                  40   applies v1 by ada <day> “First”
    project=flytesnacks domain=development workflow=train   -

"""
    )
    change = {"resource_type": "workflow_execution_config", "patch": {"max_parallelism": 30}}
    assert api.post("override-changes", {**change, "at": "2100-01-01T00:00:00Z"}).status_code == 201
    ran = applied("explain", "workflowExecutionConfig.maxParallelism", *HERE)
    scheduled = "/max_parallelism 30 from 2100-01-01T00:00:00Z"
    assert f"Scheduled: workflow_execution_config at global: {scheduled}" in ran.out
    assert applied("explain", "taskResources.limits.gpu", *HERE).code == 3
    assert applied("explain", "nonsense", *HERE).code == 3
    assert (
        "Did you mean taskResources.limits.cpu?" in applied("explain", "taskResources.limits.cpuu", *HERE).err
    )
    assert "Did you mean" not in applied("explain", "taskResources.limits.gpu", *HERE).err
    assert "Did you mean task_resource?" in applied("explain", "taskResource.limits", *HERE).err
    misspelled = applied("explain", "schema", "task_resource.limit.cpu")
    assert "Did you mean task_resource.limits.cpu?" in misspelled.err
    assert "Unknown kind 'agnts'. Did you mean agents?" in applied("get", "agnts").err
    assert json.loads(applied("explain", "task_resource", *HERE, "-o", "json").out)["items"]


def test_history_blame_and_rollback(applied):
    assert applied("apply", "-f", "-", "--yes", stdin=DOCUMENT.replace("40", "50")).code == 0
    kind = ("workflow_execution_config", *HERE)

    assert [line.split()[0] for line in applied("history", *kind).lines] == ["VERSION", "2", "1"]
    assert applied("history", *kind, "--diff", "1..2").out == (
        "    - /max_parallelism: 40\n    + /max_parallelism: 50\n"
    )
    assert applied("blame", *kind, "-o", "name").out == "/max_parallelism\n"
    reason = f"Loaded from files at commit {'4f1c2ab' * 5}."
    loaded = {"changed_by": "system:files", "change_message": reason, "declared_in": "teams/ml.yaml:12"}
    OverrideVersion.objects.filter(resource_type=kind[0], version=2).update(**loaded)
    head, line = applied("blame", *kind).lines
    assert "FILE" in head
    assert "teams/ml.yaml:12@4f1c2ab " in line
    planned = applied("rollback", *kind, "--to-version", "1", "--dry-run")
    assert (planned.code, "+ /max_parallelism: 40" in planned.out) == (0, True), planned
    assert applied("history", *kind, "-o", "name").out == "2\n1\n"
    assert applied("rollback", *kind, "--to-version", "1", "--yes").code == 0
    assert applied("diff", "-f", "a.yaml").code == 0
    assert applied("rollback", *kind).code == 2


def editor(cpctl: Cpctl, script: str) -> dict[str, str]:
    """An editor that runs these lines; $1 is the file."""
    place = cpctl.folder / "editor.sh"
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return {"EDITOR": str(place), "TMPDIR": str(cpctl.folder)}


def values(cpctl: Cpctl) -> tuple[str, int]:
    overrides = {
        override["resource_type"]: override["attributes"]
        for override in Api(cpctl.token).get("overrides").json()["items"]
    }
    return overrides["task_resource"]["defaults"]["cpu"], overrides["workflow_execution_config"][
        "max_parallelism"
    ]


def test_edit_saves_what_the_editor_left(applied):
    ran = applied.process(
        "edit", *HERE, "--yes", **editor(applied, "sed -i 's/maxParallelism: 40/maxParallelism: 41/' $1")
    )

    assert ran.code == 0, ran.err
    assert "-    maxParallelism: 40\n+    maxParallelism: 41\n" in ran.out
    assert values(applied) == ("1", 41)
    assert applied.process("edit", *HERE, "--yes", **editor(applied, "true")).code == 1
    assert applied.process("edit", *HERE, "--yes").code == 2


def test_edit_keeps_what_somebody_else_changed_meanwhile(applied):
    theirs = applied.folder / "theirs.yaml"
    theirs.write_text(DOCUMENT.replace('"1"', '"2"'))
    meanwhile = f"{shlex.quote(sys.executable)} -m cpctl apply -f {theirs} --yes"

    both = editor(applied, f"sed -i 's/maxParallelism: 40/maxParallelism: 41/' $1\n{meanwhile}")
    assert applied.process("edit", *HERE, "--yes", **both).code == 0
    assert values(applied) == ("2", 41)

    theirs.write_text(DOCUMENT.replace('"1"', '"2"').replace("40", "99"))
    same = editor(applied, f"sed -i 's/maxParallelism: 41/maxParallelism: 42/' $1\n{meanwhile}")
    ran = applied.process("edit", *HERE, "--yes", **same)
    assert (ran.code, "/spec/workflowExecutionConfig/maxParallelism" in ran.err) == (5, True)
    assert values(applied) == ("2", 99)
    (path,) = applied.folder.glob("cpctl-*.yaml")
    assert "maxParallelism: 42" in path.read_text()


def test_events_are_followed_and_agents_watched_as_they_change(cpctl):
    follower = cpctl.start("events", "watch", "--object-type", "agent", "-o", "json")
    watcher = cpctl.start("get", "agents", "--watch", "-o", "name")
    try:
        # Both begin with now, whenever that is for them: make agents until both have told of one.
        heard = [None, None]
        readers = [
            threading.Thread(target=lambda i=i, p=p: heard.__setitem__(i, p.stdout.readline()))
            for i, p in enumerate((follower, watcher))
        ]
        for reader in readers:
            reader.start()
        for number in range(60):
            Api(cpctl.token).post(
                "agents", {**AGENT, "name": f"a{number}", "topic_name": f"dcm.agent.a{number}"}
            )
            for reader in readers:
                reader.join(0.25)
            if not any(reader.is_alive() for reader in readers):
                break
        follower.send_signal(signal.SIGINT)
        assert follower.wait(60) == Exit.INTERRUPTED
    finally:
        for process in (follower, watcher):
            process.terminate()
            process.communicate()

    assert json.loads(heard[0])["type"] == "agent.registered"
    assert heard[1].startswith("a")


def test_wait_ends_when_it_comes_about(cpctl):
    # Of the server, which has short leases; the test's own process has long ones.
    Client(Context("", cpctl.server, cpctl.token)).post("agents", AGENT)
    with BeatingAgent(cpctl.server, token_for("agent")):
        waiting = cpctl.start("wait", "agent", "a1", "--for=state=unavailable", "--timeout", "30")
        out, err = waiting.communicate(timeout=40)

    # The lease of this system is three seconds, and nobody sends a heartbeat.
    assert waiting.returncode == 0, out + err


def test_flytectl_files_are_imported(cpctl):
    (cpctl.folder / "tra.yaml").write_text('project: shop\ndomain: production\ndefaults:\n  cpu: "1"\n')
    arguments = ("import", "flytectl-files", "tra.yaml", "--create-projects")

    assert "+ project shop" in cpctl(*arguments, "--dry-run").out
    assert cpctl("get", "projects", "shop").code == 3
    assert cpctl(*arguments, "--yes").code == 0
    assert cpctl("get", "projects", "shop", "-o", "name").out == "shop\n"


def test_doctor_finds_nothing_and_finds_something(cpctl):
    ran = cpctl("doctor")
    assert ran.code == 0, ran.out
    assert not any(line.startswith("BAD") for line in ran.out.splitlines())

    stranger = CpctlInProcess(cpctl.folder, cpctl.server, "cp_pat_wrong")("doctor", "-o", "json")
    bad = [item["check"] for item in json.loads(stranger.out)["items"] if not item["good"]]
    assert (stranger.code, bad) == (1, ["identity", "installation", "overrides", "events"])

    viewer = CpctlInProcess(cpctl.folder, cpctl.server, token_for("viewer", scope=Scope(project="shop")))
    assert "ok   installation: not shown to you" in viewer("doctor").out


def test_a_support_bundle_has_what_helps_and_no_secret(cpctl, system):
    """Secrets are planted in every place: settings, contexts, variables, credentials, and texts of people."""
    sink = {"name": "n", "kind": "slack", "config": {"conversation": "#x"}}
    sink["credentials"] = {"bot_token": "xoxb-planted-1", "signing_secret": "planted-2"}
    (cpctl.folder / "channel.json").write_text(json.dumps(sink))
    assert cpctl("notify", "create-channel", "-f", "channel.json", "--yes").code == 0
    guest = {"current": "work", "contexts": {"work": {"server": cpctl.server, "token": cpctl.token}}}
    guest["contexts"]["work"]["login"] = {
        "client_id": "c",
        "token_endpoint": "https://ada:planted-3@idp.example.com/token",
        "refresh_token": "planted-4",
        "expires_at": 4e9,
    }
    # Processes tell of themselves every ten seconds, and tests before this one have emptied the tables.
    until(Member.objects.exists, 60)
    config = cpctl.folder / "planted.json"
    config.write_text(json.dumps(guest))
    config.chmod(0o600)
    ran = cpctl(
        *("doctor", "--bundle", "support.tar.gz"),
        CPCTL_CONFIG=str(config),
        CPCTL_PLANTED_PASSWORD="planted-5",
        CPCTL_TOKEN="",
        CPCTL_SERVER="",
    )
    assert ran.code == 0, ran.out + ran.err

    path = cpctl.folder / "support.tar.gz"
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as tar:
        files = {Path(member.name).name: tar.extractfile(member).read().decode() for member in tar}
    everything = "\n".join(files.values())
    environment = system.environment
    planted = [cpctl.token, environment["SECRET_KEY"], environment["DATABASE_URL"], environment["REDIS_URL"]]
    for secret in (*planted, "planted-", "xoxb"):
        assert secret not in everything, secret
    assert json.loads(files["meta.json"])["members"]["versions"]
    assert json.loads(files["openapi.json"])["bytes"] > 100_000
    settings = {setting["name"]: setting for setting in json.loads(files["support.json"])["settings"]}
    assert settings["LEASE_SECONDS"]["value"] == "3"
    assert settings["SECRET_KEY"] == {"name": "SECRET_KEY", "is_set": True, "is_shown": False, "value": None}
    assert "context" in json.loads(files["client.json"])

    again = cpctl("doctor", "--bundle", "support.tar.gz")
    assert again.code == 2
    assert "exists" in again.err
    viewer = CpctlInProcess(cpctl.folder, cpctl.server, token_for("viewer"))
    assert viewer("doctor", "--bundle", str(cpctl.folder / "viewer.tar.gz")).code == 0
    with tarfile.open(cpctl.folder / "viewer.tar.gz") as tar:
        refused = next(tar.extractfile(member).read() for member in tar if "support.json" in member.name)
    assert json.loads(refused)["code"] == "permission_denied"


def test_completion_knows_live_names_and_is_silent_when_it_cannot(cpctl):
    def complete(words: str, server: str) -> str:
        here = Cpctl(cpctl.folder, server, cpctl.token)
        environment = {"_CPCTL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
        return here(**environment).out

    def comes(words: str) -> bool:
        # A machine with much to do takes longer than completion waits for, but not always.
        return any(complete(words, cpctl.server).split() == ["flytesnacks"] for _ in range(20))

    assert comes("cpctl get overrides -p fly")
    assert complete("cpctl get overrides -p fly", "http://127.0.0.1:9").split() == []
    assert comes("cpctl -q describe projects fly")
    assert "_CPCTL_COMPLETE" in cpctl.process("completion", "bash").out
