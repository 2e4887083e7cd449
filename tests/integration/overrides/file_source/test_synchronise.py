"""Overrides from a folder: what takes effect, what does not, and who is told."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction

from controlplane.access.models import AuditRecord
from controlplane.errors import SourceIsReadOnly, UnknownVersion
from controlplane.events.models import Event
from controlplane.identity.actors import system
from controlplane.scopes import Scope
from overrides.approvals.changes import create_policy
from overrides.editing.writes import put_override
from overrides.effective.effective import effective_attributes
from overrides.file_source.synchronise import confirm, release, source_state, synchronise
from overrides.freezes.changes import declare_freeze, end_freeze
from overrides.models import GuardRailRow, Override, SourceState
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR, make_project
from tests.unit.overrides.file_source.test_head_commit import git

CPU = Address("task_resource", Scope())
RFC_LIST = """
- project: flytesnacks   # workflow level
  domain: development
  workflow: MyExampleWorkflow
  overrides:
    taskResources:
      defaults: {cpu: "1", memory: "500Mi"}
      limits: {cpu: "3", memory: "2Gi", gpu: "4"}
- project: flytesnacks   # project-domain level
  domain: development
  overrides:
    workflowExecutionConfig:
      labels: {my-key: "my-value"}
      securityContext: {coreIdentity: {iamRole: "my_iam_role"}}
"""


def document(cpu: str, **scope: str) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in scope.items())
    return f'kind: overrides\n{head}spec:\n  taskResources:\n    defaults: {{cpu: "{cpu}"}}\n'


@pytest.fixture
def folder(db, settings, tmp_path):
    make_project()
    settings.OVERRIDES_SOURCE = "file"
    settings.OVERRIDES_PATH = str(tmp_path)
    return tmp_path


def cpu_at(scope: Scope = Scope()) -> str | None:
    types = effective_attributes(scope, resource_type="task_resource").types
    return types[0].resolved.attributes["defaults"]["cpu"] if types else None


def write_many(folder: Path, count: int) -> None:
    for number in range(count):
        text = document("1", project="flytesnacks", domain="development", workflow=f"w{number}")
        (folder / f"{number}.yaml").write_text(text)


def test_the_list_of_the_rfc_takes_effect_with_its_file_and_line(folder):
    (folder / "defaults.yaml").write_text(RFC_LIST)

    assert synchronise() == "current"

    (of_workflow,) = Override.objects.filter(workflow="MyExampleWorkflow")
    (of_domain,) = Override.objects.filter(workflow="")
    assert of_workflow.attributes["limits"] == {"cpu": "3", "memory": "2Gi", "gpu": "4"}
    assert of_workflow.declared_in == "defaults.yaml:2"
    assert of_domain.attributes["security_context"] == {"run_as": {"iam_role": "my_iam_role"}}
    assert of_domain.declared_in == "defaults.yaml:9"


def test_a_changed_file_takes_effect_and_an_unchanged_folder_makes_no_revision(folder):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()
    first = source_state()

    synchronise()
    assert source_state()["revision"] == first["revision"]
    (folder / "a.yaml").write_text(document("2"))
    synchronise()

    assert cpu_at() == "2"
    assert source_state()["revision"] == first["revision"] + 1


def test_files_in_folders_count_and_hidden_ones_do_not(folder):
    (folder / "teams").mkdir()
    (folder / "teams" / "ml.yml").write_text(document("3"))
    (folder / "..2026_11_21").mkdir()
    (folder / "..2026_11_21" / "old.yaml").write_text(document("9"))
    (folder / "notes.txt").write_text("not yaml: [")

    assert synchronise() == "current"

    assert (cpu_at(), source_state()["files"]) == ("3", ["teams/ml.yml"])


def test_a_config_map_as_kubernetes_mounts_it_is_followed_through_its_links(folder):
    """The files are links into a folder that is swapped at once."""
    (folder / "..v1").mkdir()
    (folder / "..v1" / "defaults.yaml").write_text(document("4"))
    os.symlink("..v1", folder / "..data")
    os.symlink("..data/defaults.yaml", folder / "defaults.yaml")
    synchronise()
    (folder / "..v2").mkdir()
    (folder / "..v2" / "defaults.yaml").write_text(document("5"))
    os.symlink("..v2", folder / "..new")
    os.replace(folder / "..new", folder / "..data")

    synchronise()

    assert cpu_at() == "5"


@pytest.mark.parametrize(
    ("text", "line", "column", "code"),
    [
        ("kind: overrides\nspec: [\n", 3, 1, "malformed"),
        (
            "kind: overrides\nproject: flytesnacks\nspec:\n  taskResources:\n    limits: {cpu: one}\n",
            5,
            19,
            "malformed",
        ),
        ("kind: overrides\nspec:\n  taskResource: {}\n", 3, 17, "unknown_field"),
        ("kind: overrides\nproject: nobody\nspec:\n  taskResources: {}\n", 4, 18, "unknown_project"),
        ("kind: overrides\nworkflow: w\nspec:\n  taskResources: {}\n", 1, 1, "required"),
        ("kind: overrides\nspec:\n  taskResources: {a: 1, a: 2}\n", 3, 25, "malformed"),
        ("kind: overrides\nspec: &x\n  taskResources: {}\n", 2, 7, "malformed"),
    ],
)
def test_a_bad_file_changes_nothing_and_is_told_with_line_and_column(folder, text, line, column, code):
    (folder / "good.yaml").write_text(document("1"))
    synchronise()
    (folder / "good.yaml").write_text(document("2"))
    (folder / "bad.yaml").write_text(text)

    assert synchronise() == "failing"

    assert cpu_at() == "1"
    (error,) = source_state()["errors"]
    assert (error["line"], error["column"], error["code"]) == (line, column, code)
    assert error["file"] == "bad.yaml"


def test_every_bad_file_is_told_at_once(folder):
    (folder / "a.yaml").write_text("[")
    (folder / "b.yaml").write_text("{")

    synchronise()

    assert [error["file"] for error in source_state()["errors"]] == ["a.yaml", "b.yaml"]


def test_putting_the_file_right_ends_the_failure(folder):
    (folder / "a.yaml").write_text("[")
    synchronise()
    (folder / "a.yaml").write_text(document("6"))

    assert synchronise() == "current"

    assert (cpu_at(), source_state()["errors"]) == ("6", [])


def test_two_files_that_claim_one_scope_and_type_are_both_named(folder):
    (folder / "a.yaml").write_text(document("1"))
    (folder / "b.yaml").write_text("# two\n" + document("2"))

    assert synchronise() == "failing"

    (error,) = source_state()["errors"]
    assert error["code"] == "claimed_twice"
    assert "a.yaml:1" in error["message"]
    assert "b.yaml:2" in error["message"]


def test_a_set_that_breaks_what_is_inherited_does_not_take_effect(folder):
    (folder / "a.yaml").write_text(document("4"))
    (folder / "b.yaml").write_text(
        'kind: overrides\nproject: flytesnacks\nspec:\n  taskResources:\n    limits: {cpu: "2"}\n'
    )

    assert synchronise() == "failing"

    assert "below its default" in source_state()["errors"][0]["message"]
    assert Override.objects.count() == 0


def test_removing_a_file_removes_what_it_said(folder):
    (folder / "a.yaml").write_text(document("1"))
    (folder / "b.yaml").write_text(document("2", project="flytesnacks"))
    synchronise()
    (folder / "b.yaml").unlink()

    synchronise()

    assert cpu_at(Scope(project="flytesnacks")) == "1"


@pytest.mark.parametrize(
    ("stored", "remaining", "state"), [(30, 11, "current"), (30, 10, "awaiting_confirmation")]
)
def test_twenty_removals_and_a_tenth_wait_for_a_confirmation(folder, stored, remaining, state):
    write_many(folder, stored)
    synchronise()
    for number in range(remaining, stored):
        (folder / f"{number}.yaml").unlink()

    assert synchronise() == state

    assert Override.objects.count() == (remaining if state == "current" else stored)


def test_a_tenth_of_many_may_go_without_asking(folder):
    write_many(folder, 250)
    synchronise()
    for number in range(25):
        (folder / f"{number}.yaml").unlink()

    assert synchronise() == "current"


def test_an_empty_folder_never_removes_all_by_itself(folder):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()
    (folder / "a.yaml").unlink()

    assert synchronise() == "awaiting_confirmation"

    assert cpu_at() == "1"


def test_a_confirmed_set_takes_effect_and_only_that_one(folder):
    write_many(folder, 30)
    synchronise()
    for number in range(5, 30):
        (folder / f"{number}.yaml").unlink()
    synchronise()
    pending = source_state()["pending"]
    assert (pending["removals"], pending["stored"]) == (25, 30)

    with pytest.raises(UnknownVersion), transaction.atomic():
        confirm("0" * 64, actor=ACTOR)
    confirm(pending["digest"], actor=ACTOR)

    assert synchronise() == "current"
    assert Override.objects.count() == 5
    assert AuditRecord.objects.filter(action="overrides_source.confirmed", actor="system:tests").exists()


def test_a_confirmation_is_worth_nothing_once_the_files_have_changed(folder):
    write_many(folder, 30)
    synchronise()
    for number in range(5, 30):
        (folder / f"{number}.yaml").unlink()
    synchronise()
    confirm(source_state()["pending"]["digest"], actor=ACTOR)
    (folder / "4.yaml").unlink()

    assert synchronise() == "awaiting_confirmation"

    assert Override.objects.count() == 30


def test_a_folder_that_cannot_be_read_keeps_the_last_good_set(folder, settings):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()
    settings.OVERRIDES_PATH = str(folder / "gone")

    assert synchronise() == "failing"

    assert (cpu_at(), source_state()["errors"][0]["code"]) == ("1", "unreadable")


def test_a_failure_is_announced_once_and_not_at_every_look(folder):
    (folder / "a.yaml").write_text("[")

    for _ in range(3):
        synchronise()

    assert Event.objects.filter(type="overrides_source.refused").count() == 1


def test_nobody_else_may_write(folder):
    with pytest.raises(SourceIsReadOnly), transaction.atomic():
        put_override(CPU, {"defaults": {"cpu": "1"}}, actor=ACTOR)


def test_every_write_of_the_api_is_refused(folder, api):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()
    body = {"attributes": {"defaults": {"cpu": "2"}}}
    bundle = {"documents": [{"kind": "overrides", "spec": {"taskResources": {}}}]}

    answers = [
        api.put("overrides/task_resource", body, If_Match='"v1"'),
        api.patch("overrides/task_resource", body),
        api.delete("overrides/task_resource", If_Match='"v1"'),
        api.post("overrides:apply", bundle),
        api.put("overrides/document", {"kind": "overrides", "spec": {}}, If_Match="*"),
        api.post("overrides:rollback", {"to_revision": 0}),
        api.post("overrides/task_resource:rollback", {"to_version": 1}),
    ]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {
        (409, "source_is_read_only")
    }
    assert cpu_at() == "1"


def test_the_api_shows_the_source_and_takes_the_confirmation(folder, api):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()
    (folder / "a.yaml").unlink()
    synchronise()

    waiting = api.get("overrides/source").json()
    wrong = api.post("overrides/source:confirm", {"digest": "no"})
    right = api.post("overrides/source:confirm", {"digest": waiting["pending"]["digest"]})
    synchronise()

    assert (waiting["source"], waiting["state"]) == ("file", "awaiting_confirmation")
    assert waiting["pending"]["addresses"] == ["task_resource at global"]
    assert (wrong.status_code, right.status_code) == (404, 200)
    assert (api.get("overrides/source").json()["state"], cpu_at()) == ("current", None)


def test_switching_to_files_and_back_loses_nothing(db, settings, tmp_path, api):
    make_project()
    api.put("overrides/task_resource", {"attributes": {"defaults": {"cpu": "1"}}})
    odd = "overrides/task_resource?project=flytesnacks&domain=development&workflow=..%2Fa%20b/%C3%A9"
    api.put(odd, {"attributes": {"defaults": {"cpu": "2"}}})
    before = api.get("overrides/export").content
    folder = tmp_path / "out"

    call_command("overrides_to_files", str(folder))
    settings.OVERRIDES_SOURCE, settings.OVERRIDES_PATH = "file", str(folder)
    assert synchronise() == "current"
    assert api.get("overrides/export").content == before
    release()
    settings.OVERRIDES_SOURCE = "db"

    assert api.get("overrides/export").content == before
    assert not Override.objects.exclude(declared_in="")
    assert all(path.resolve().is_relative_to(folder) for path in folder.rglob("*"))


def test_a_value_that_breaks_an_accepted_rail_does_not_stop_the_switch_to_files(db, settings, tmp_path, api):
    make_project()
    queue = Address("workflow_execution_config", Scope())
    put_override(queue, {"max_parallelism": 500}, actor=ACTOR)
    rail = {"name": "cap", "resource_type": queue.resource_type, "pointer": "/max_parallelism"}
    api.put("guard-rails/cap?accept_existing=true", {**rail, "rule": {"maximum": 100}})
    call_command("overrides_to_files", tmp_path / "all")
    settings.OVERRIDES_SOURCE = "file"
    settings.OVERRIDES_PATH = str(tmp_path / "all")

    assert synchronise() == "current"
    (tmp_path / "all" / "more.yaml").write_text(document("1", project="flytesnacks"))
    assert synchronise() == "current"

    assert Override.objects.get(resource_type=queue.resource_type).attributes == {"max_parallelism": 500}


def test_a_rail_in_a_file_may_not_make_limits_smaller_than_defaults(folder):
    tasks = "kind: overrides\n{}spec:\n  taskResources: {{limits: {{cpu: '{}'}}, defaults: {{cpu: '{}'}}}}\n"
    project = "project: flytesnacks\n"
    (folder / "a.yaml").write_text(tasks.format("", 2, 1))
    (folder / "b.yaml").write_text(tasks.format(project, 8, 6))
    assert synchronise() == "current"
    rail = "kind: guardRail\nname: cap\nresource_type: task_resource\npointer: /limits/cpu\n"

    (folder / "c.yaml").write_text(f"{rail}scope: {{project: flytesnacks}}\nrule: {{maximum: 4}}\n")

    assert synchronise() == "failing"
    assert not GuardRailRow.objects.exists()
    assert "project=flytesnacks" in source_state()["errors"][0]["message"]


def test_what_people_set_before_the_switch_is_never_removed_without_asking(db, settings, tmp_path):
    put_override(CPU, {"defaults": {"cpu": "1"}}, actor=ACTOR)
    put_override(Address("execution_queue", Scope()), {"tags": ["a"]}, actor=ACTOR)
    (tmp_path / "a.yaml").write_text(document("1"))
    settings.OVERRIDES_SOURCE, settings.OVERRIDES_PATH = "file", str(tmp_path)

    assert synchronise() == "awaiting_confirmation"

    assert Override.objects.count() == 2


def test_the_switch_back_is_refused_while_the_files_are_not_in_force(folder):
    (folder / "a.yaml").write_text("[")
    synchronise()

    with pytest.raises(CommandError, match="not in effect"):
        call_command("overrides_to_database")


def test_the_command_says_where_the_mistake_is(folder, capsys):
    (folder / "a.yaml").write_text("kind: overrides\nspec:\n  taskResource: {}\n")

    with pytest.raises(CommandError, match="failing"):
        call_command("load_overrides")

    assert "a.yaml:3:17: Unknown resource type 'taskResource'" in capsys.readouterr().err


@pytest.mark.django_db(transaction=True)
def test_several_processes_that_look_at_once_load_a_set_once(settings, tmp_path):
    settings.OVERRIDES_SOURCE, settings.OVERRIDES_PATH = "file", str(tmp_path)
    SourceState.objects.get_or_create(id=1, defaults={"state": "database"})
    (tmp_path / "a.yaml").write_text(document("1"))
    together = threading.Barrier(6)

    def look(_: int) -> str:
        together.wait()
        try:
            return synchronise()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        states = set(pool.map(look, range(6)))

    assert states <= {"current", "database"}
    assert Event.objects.filter(type="overrides_source.loaded").count() == 1
    assert Override.objects.get().version == 1


def test_the_files_actor_is_named_in_history(folder):
    (folder / "a.yaml").write_text(document("1"))
    synchronise()

    assert Override.objects.get().changed_by == system("files").name


def commit_all(folder: Path) -> str:
    """Commit what is in the folder, also if nothing changed, and return the commit."""
    git(folder, "init", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--allow-empty", "--message=Change.")
    return git(folder, "rev-parse", "HEAD")


def test_versions_and_blame_name_the_commit_of_their_files(folder, api):
    (folder / "a.yaml").write_text(document("1"))
    first = commit_all(folder)
    synchronise()
    (folder / "a.yaml").write_text(document("2") + '    limits: {cpu: "4"}\n')
    second = commit_all(folder)
    synchronise()
    # Not committed, so that no commit has it.
    (folder / "a.yaml").write_text(document("2") + '    limits: {cpu: "5"}\n')
    synchronise()

    versions = api.get("overrides/task_resource/versions").json()["items"]
    assert [version["commit"] for version in versions] == ["", second, first]
    blamed = {line["pointer"]: line for line in api.get("overrides/task_resource/blame").json()["items"]}
    assert (blamed["/defaults/cpu"]["commit"], blamed["/limits/cpu"]["commit"]) == (second, "")
    assert blamed["/defaults/cpu"]["declared_in"] == "a.yaml:1"


def test_the_source_names_the_commit_in_effect(folder, api):
    (folder / "a.yaml").write_text(document("1"))
    commit_all(folder)
    synchronise()
    revision = source_state()["revision"]

    same_files = commit_all(folder)
    synchronise()
    assert (source_state()["commit"], source_state()["revision"]) == (same_files, revision)

    (folder / "a.yaml").write_text("kind: nonsense")
    commit_all(folder)
    assert synchronise() == "failing"
    assert api.get("overrides/source").json()["commit"] == same_files


def test_nobody_but_the_files_can_name_a_commit(db, api):
    message = f"Loaded from files at commit {'a' * 40}."
    saved = api.put(
        f"overrides/task_resource?change_message={quote(message)}", {"attributes": {"defaults": {"cpu": "1"}}}
    )
    assert saved.status_code == 201, saved.content

    (version,) = api.get("overrides/task_resource/versions").json()["items"]
    assert (version["change_message"], version["commit"]) == (message, "")


def test_a_freeze_holds_files_back_and_they_take_effect_after_it(folder):
    (folder / "a.yaml").write_text(document("1"))
    assert synchronise() == "current"
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    freeze = declare_freeze(Scope(), starts_at=None, ends_at=ends_at, reason="Sale", actor=ACTOR)
    (folder / "a.yaml").write_text(document("2"))

    states = [synchronise(), synchronise()]

    assert (states, cpu_at()) == (["failing", "failing"], "1")
    assert source_state()["errors"][0]["code"] == "change_frozen"
    assert Event.objects.filter(type="overrides_source.refused").count() == 1
    end_freeze(freeze.id, actor=ACTOR)
    assert (synchronise(), cpu_at()) == ("current", "2")


def test_files_need_no_approvals(folder):
    (folder / "a.yaml").write_text(document("1"))
    assert synchronise() == "current"
    create_policy(Scope(), approvals=2, reason="Production", actor=ACTOR)
    (folder / "a.yaml").write_text(document("2"))

    assert (synchronise(), cpu_at()) == ("current", "2")
