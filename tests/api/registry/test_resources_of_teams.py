"""Resources of teams: who creates for whom, and what another team's are for a caller limited to one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from controlplane.access import principals, role_bindings
from controlplane.access.role_bindings import BindingTerms
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.dispatch.models import ResourceRow
from tests.support.api_client import ACTOR, Api, make_principal, make_project, token_for
from tests.support.two_teams import OTHER, OURS, TwoTeams, make_two_teams, member_of

# Nobody offers it: agents of other owners would be named in the answers.
BODY: dict[str, Any] = {"service_type": "storage", "spec": {}}
_OWN = re.compile(r'"(request_id|instance)": ?"[^"]*"')


@pytest.fixture
def world(api: Api) -> TwoTeams:
    return make_two_teams(api)


def create(caller: Api, resource_id: str, **fields: Any) -> Any:
    answer = caller.post(f"resources?id={resource_id}", {**BODY, **fields})
    assert answer.status_code == 202, answer.content
    return answer.json()


def limited(*teams: Any, role: Role = Role.EDITOR, scope: Scope = Scope()) -> Api:
    """A caller whose role is limited to the teams, at the scope."""
    principal = make_principal()
    for team in teams:
        role_bindings.bind_role(principal, role, scope, actor=ACTOR, terms=BindingTerms(owned_by=team))
    return Api(principals.create_token(principal, name="test", expires_at=None, actor=ACTOR)[1])


def ids(caller: Api, query: str = "") -> list[str]:
    return [item["id"] for item in caller.get(f"resources?{query}").json()["items"]]


def test_a_caller_limited_to_one_team_creates_for_it(api, world):
    editor = member_of(world.ours, Role.EDITOR)

    assert create(editor, "r1")["team"] == OURS
    assert create(editor, "r2", team=OURS)["team"] == OURS
    assert create(api, "r3", team=OURS)["team"] == OURS
    assert create(api, "r4")["team"] is None
    for team in (OTHER, "none"):
        answer = editor.post("resources", {**BODY, "team": team})
        assert (answer.status_code, answer.json()["detail"]) == (404, f"Team '{team}' does not exist.")
    assert ids(editor) == ["r1", "r2", "r3"]
    assert ids(api, f"team={OURS}") == ["r1", "r2", "r3"]
    assert ids(editor, f"team={OTHER}") == []


def test_a_caller_limited_to_two_teams_says_for_which(world):
    editor = limited(world.ours, world.other)

    answer = editor.post("resources", BODY)
    message = f"Your roles are limited to several teams. Set team to one of: {OTHER}, {OURS}."
    assert (answer.status_code, answer.json()["detail"]) == (400, message)
    assert answer.json()["errors"][0]["pointer"] == "/team"
    assert create(editor, "r1", team=OTHER)["team"] == OTHER


def test_another_owners_resource_is_as_one_that_does_not_exist(api, world):
    for name, team in (("r-other", OTHER), ("r-platform", None)):
        create(api, name, team=team)
    requests = [
        *(("GET", ""), ("GET", "/assignments"), ("DELETE", ""), ("DELETE", "?force=true")),
        *(("POST", ":cancel"), ("POST", ":retry")),
    ]
    for role in (Role.VIEWER, Role.OPERATOR, Role.EDITOR, Role.ADMIN):
        caller = member_of(world.ours, role)
        for method, path in requests:
            answers = {
                (
                    answer.status_code,
                    _OWN.sub("", answer.content.decode()).replace(name, "NAME"),
                )
                for name in ("r-other", "r-platform", "r-absent")
                for answer in [caller(method, f"resources/{name}{path}", None)]
            }
            assert len(answers) == 1, (role, method, path, answers)
            ((status, _),) = answers
            assert status == (404 if method == "GET" or role is not Role.VIEWER else 403)
        assert ids(caller) == []
        events = caller.get("events?limit=200&object_type=resource").json()["items"]
        assert events == []
    assert set(ResourceRow.objects.values_list("state", flat=True)) == {"pending"}


def test_events_of_a_resource_are_for_its_readers(api, world):
    make_project("shop")
    create(api, "r-ours", team=OURS)
    create(api, "r-shop", project="shop")
    readers = {
        "r-ours": member_of(world.ours, Role.VIEWER),
        "r-shop": Api(token_for("viewer", scope=Scope(project="shop"))),
    }
    for resource_id, reader in readers.items():
        for name in readers:
            page = reader.get(f"events?after=0&object_type=resource&object_id={name}").json()
            types = [event["type"] for event in page["items"]]
            assert types == (["resource.requested"] if name == resource_id else [])
    # Reads resources, and no events of them.
    agent = Api(token_for("agent"))
    assert agent.get("events?object_type=resource").status_code == 403


def test_a_role_limited_to_a_team_at_a_project_reaches_both_limits_at_once(api, world):
    for project in ("shop", "bank"):
        make_project(project)
        for team in (OURS, OTHER, None):
            create(api, f"{project}-{team or 'platform'}", project=project, team=team)
    editor = limited(world.ours, scope=Scope(project="shop"))

    assert ids(editor) == [f"shop-{OURS}"]
    assert create(editor, "mine", project="shop")["team"] == OURS
    assert editor.post("resources", {**BODY, "project": "bank"}).status_code == 403
    assert editor.post("resources", BODY).status_code == 403
    assert editor.delete(f"resources/bank-{OURS}").status_code == 404
    assert editor.delete(f"resources/shop-{OURS}").status_code == 202
    types = {event["object_id"] for event in editor.get("events?object_type=resource").json()["items"]}
    assert types == {f"shop-{OURS}", "mine"}


def test_a_role_at_a_project_gives_nothing_to_a_team(world):
    make_project("shop")
    editor = Api(token_for("editor", scope=Scope(project="shop")))

    for team in (OURS, "none"):
        answer = editor.post("resources", {**BODY, "project": "shop", "team": team})
        assert (answer.status_code, answer.json()["detail"]) == (404, f"Team '{team}' does not exist.")


def test_members_of_a_team_learn_no_names_of_projects(world):
    make_project("shop")
    editor = member_of(world.ours, Role.EDITOR)

    texts = {
        _OWN.sub("", editor.post("resources", {**BODY, "project": name}).content.decode()).replace(
            name, "NAME"
        )
        for name in ("shop", "shoq")
    }
    assert len(texts) == 1
    assert '"permission_denied"' in texts.pop()
    operator = Api(token_for("operator"))
    answer = operator.post("resources", {**BODY, "project": "shoq"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "Project 'shoq' does not exist.")
    assert create(operator, "r1", project="shop")["project"] == "shop"
