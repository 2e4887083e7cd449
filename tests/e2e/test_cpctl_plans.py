"""cpctl's plans: always shown, with what would be removed and how to confirm it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from controlplane.access.principals import create_token
from overrides.models import Override, Project
from tests.support.api_client import ACTOR, Api, make_principal, make_project
from tests.support.cpctl_in_process import CpctlInProcess

WIDE = 'kind: overrides\nspec:\n  taskResources:\n    defaults: {cpu: "1"}\n'
HERE = "project: flytesnacks\ndomain: development\n"
TWO = f"{WIDE}{HERE}---\n{WIDE}{HERE}workflow: train\n"
EMPTY = "kind: overrides\nspec: {}\n"
RAIL = "resource_type: task_resource\npointer: /defaults/cpu\nrule: {maximum: 500m}\n"


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[CpctlInProcess]:
    make_project()
    _, token = create_token(make_principal("admin", name="ada"), name="test", expires_at=None, actor=ACTOR)
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token) as cpctl:
        yield cpctl


def confirm_in(text: str) -> str:
    (confirm,) = re.findall(r"To confirm, add --confirm (\S+)", text)
    return str(confirm)


def test_a_plan_is_shown_however_many_scopes_it_reaches(cpctl):
    Project.objects.bulk_create([Project(id=f"p{number}", name="p") for number in range(340)])

    differs = cpctl("diff", "-f", "-", stdin=WIDE)
    planned = cpctl("apply", "-f", "-", "--dry-run=server", stdin=WIDE)
    refused = cpctl("apply", "-f", "-", "--yes", stdin=WIDE)

    assert (differs.code, planned.code, refused.code) == (1, 0, 5)
    assert differs.out == planned.out
    assert "+ task_resource global" in planned.out
    assert "effective values change at 1024 scopes." in planned.out
    assert confirm_in(planned.out) == "1024"
    assert "add --confirm 1024" in refused.err
    assert not Override.objects.exists()

    done = [cpctl("apply", "-f", "-", "--yes", "--confirm", "1024", stdin=WIDE) for _ in range(2)]
    assert [ran.code for ran in done] == [0, 0]
    assert done[1].lines == [
        "0 created, 0 updated, 0 deleted, 1 unchanged; effective values change at 0 scopes."
    ]


def test_a_plan_is_shown_when_nothing_changes(cpctl):
    assert cpctl("apply", "-f", "-", "--manager", "git", "--yes", stdin=TWO).code == 0
    unchanged = ["0 created, 0 updated, 0 deleted, 2 unchanged; effective values change at 0 scopes."]

    same = cpctl("diff", "-f", "-", "--manager", "git", stdin=TWO)
    planned = cpctl("apply", "-f", "-", "--manager", "git", "--dry-run=server", stdin=TWO)
    managers = cpctl("diff", "-f", "-", "--manager", "team", stdin=TWO)

    assert (same.code, same.lines) == (planned.code, planned.lines) == (0, unchanged)
    # Only who manages the values would change: no difference of values, so none is listed.
    assert (managers.code, len(managers.lines)) == (0, 1)
    assert "0 updated, 0 deleted, 0 unchanged, 2 with equal values and another manager;" in managers.out


def test_a_prune_shows_what_it_removes_and_how_to_confirm_it(cpctl):
    assert cpctl("apply", "-f", "-", "--manager", "git", "--yes", stdin=TWO).code == 0
    prune = ("apply", "-f", "-", "--manager", "git", "--prune")

    planned = cpctl(*prune, "--dry-run=server", stdin=EMPTY)
    refused = cpctl(*prune, "--yes", stdin=EMPTY)

    assert (planned.code, refused.code) == (0, 5)
    for workflow in ("", " workflow=train"):
        line = f"- task_resource project=flytesnacks domain=development{workflow}"
        assert line in planned.lines
        assert line in refused.lines
    assert "This removes 2 of the 2 overrides that git manages" in planned.out
    assert Override.objects.count() == 2
    digest = confirm_in(planned.out)
    done = [cpctl(*prune, "--yes", "--confirm", digest, stdin=EMPTY) for _ in range(2)]
    assert ([ran.code for ran in done], Override.objects.count()) == ([0, 0], 0)


def test_a_prune_by_labels_removes_at_projects_with_these_labels_only(cpctl):
    for name in ("ml", "web"):
        Project.objects.create(id=name, name=name, labels={"team": name})
        document = f"{WIDE}project: {name}\n"
        assert cpctl("apply", "-f", "-", "--manager", "git", "--yes", stdin=document).code == 0
    prune = ("--manager", "git", "--prune", "-l", "team=ml")

    differs = cpctl("diff", "-f", "-", *prune, stdin=EMPTY)
    (cpctl.folder / "empty.yaml").write_text(EMPTY)
    done = cpctl.at_a_terminal("y\n", "apply", "-f", "empty.yaml", *prune)
    unlimited = [cpctl("apply", "-f", "empty.yaml", *prune[:-1], text, "--yes") for text in ("", ",")]
    alone = cpctl("apply", "-f", "empty.yaml", "-l", "team=ml", "--yes")

    assert (differs.code, "- task_resource project=ml" in differs.lines) == (1, True)
    assert "project=web" not in differs.out
    assert done.code == 0
    assert [row.project for row in Override.objects.all()] == ["web"]
    assert [ran.code for ran in (*unlimited, alone)] == [2, 2, 2]


def test_who_agrees_at_a_terminal_has_confirmed_the_plan(cpctl):
    (cpctl.folder / "two.yaml").write_text(TWO)
    (cpctl.folder / "empty.yaml").write_text(EMPTY)
    assert cpctl("apply", "-f", "two.yaml", "--manager", "git", "--yes").code == 0
    prune = ("apply", "-f", "empty.yaml", "--manager", "git", "--prune")

    declined = cpctl.at_a_terminal("n\n", *prune)
    count = Override.objects.count()
    agreed = cpctl.at_a_terminal("y\n", *prune)

    assert (declined.code, count, agreed.code, Override.objects.count()) == (1, 2, 0, 0)


def test_a_rail_is_planned_before_it_is_set(cpctl):
    (cpctl.folder / "rail.yaml").write_text(RAIL)
    assert cpctl("apply", "-f", "-", "--yes", stdin=WIDE).code == 0
    rail = ("guard-rails", "set", "cap", "-f", "rail.yaml")

    planned = cpctl(*rail, "--dry-run")
    refused = cpctl(*rail, "--yes")
    done = cpctl(*rail, "--accept-existing", "--yes")
    removal = cpctl("guard-rails", "delete", "cap", "--dry-run")

    assert (planned.code, refused.code, done.code, removal.code) == (0, 5, 0, 0)
    assert "/defaults/cpu: 1 (cap: the maximum is 500m)" in planned.out
    assert "    - /defaults/cpu: 1" in planned.out
    assert "    + /defaults/cpu: 1" in removal.out
    assert [guard_rail["name"] for guard_rail in Api(cpctl.token).get("guard-rails").json()["items"]] == [
        "cap"
    ]


def test_lists_and_exports_take_filters(cpctl):
    other = TWO.replace("taskResources", "executionQueueAttributes").replace(
        'defaults: {cpu: "1"}', "tags: [gpu]"
    )
    assert cpctl("apply", "-f", "-", "--manager", "git", "--yes", stdin=TWO).code == 0
    assert cpctl("apply", "-f", "-", "--manager", "team", "--yes", stdin=other).code == 0

    own_names = cpctl("get", "overrides", "--manager", "git", "-o", "name").lines
    items = json.loads(cpctl("get", "overrides", "--search", "GPU", "--sort=-scope", "-o", "json").out)[
        "items"
    ]
    exported = cpctl("export", "-p", "flytesnacks", "-d", "development", "--manager", "team")

    assert len(own_names) == 2
    assert all(name.startswith("task_resource ") for name in own_names)
    assert [item["scope"]["workflow"] for item in items] == ["train", ""]
    assert exported.out.count("executionQueueAttributes") == 2
    assert "taskResources" not in exported.out
    assert cpctl("diff", "-f", "-", "--manager", "team", stdin=exported.out).code == 0
