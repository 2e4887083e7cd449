"""Roles for one team: they reach its documents and data planes, and another team's do not exist."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.teams import create_team, delete_team, get_team
from controlplane.errors import StillInUse
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agent_configs.models import DataPlane
from tests.api.access.test_visibility import METHODS, problems
from tests.api.access.visibility_table import TABLE
from tests.api.access.visibility_world import (
    CONTESTED,
    FLEET,
    KINDS,
    TEAM_A,
    TEAM_B,
    Reader,
    config_text,
    make_world,
)
from tests.support.api_client import ACTOR, Api, make_principal, token_for

_OURS = ("agent_config", "data_plane", "task_types", "events_", "audit_")


def reader_for(team: str, role: Role, *more: Role) -> Api:
    """A caller with a role for a team alone. more: roles for everything."""
    principal = principals.create_principal(f"{role}-of-it", kind=PrincipalKind.SERVICE, actor=ACTOR)
    terms = BindingTerms(owned_by=get_team(team))
    role_bindings.bind_role(principal, role, Scope(), actor=ACTOR, terms=terms)
    for other in more:
        role_bindings.bind_role(principal, other, Scope(), actor=ACTOR)
    _, secret = principals.create_token(principal, name="test", expires_at=None, actor=ACTOR)
    return Api(secret)


@pytest.fixture
def teams(api: Api) -> None:
    """TEAM_A and TEAM_B, each with a data plane of its own beside the platform's. B was first."""
    make_principal(name="pa")
    make_principal(name="va")
    api.put("data-planes/eu", {})
    for team in (TEAM_B, TEAM_A):
        api.put(f"agent-config-teams/{team}", {"organisation": f"{team}-org", "publishers": []})
        api.put(f"agent-configs/{team}/doc", {"text": config_text(team, CONTESTED)})
        _make_plane(api, team)


def _make_plane(api: Api, team: str) -> None:
    assert api.put(f"data-planes/{team}-plane", {"team": team, "teams": [team]}).status_code == 201


def test_another_teams_objects_do_not_exist_for_a_role_of_one_team(api):
    world = make_world(api)
    for team in (TEAM_A, TEAM_B):
        _make_plane(api, team)
    worlds = [world, replace(world, present={**world.present, "plane": f"{TEAM_B}-plane"})]
    hidden = frozenset(KINDS) - {TEAM_A, FLEET}
    readers = [Reader(role, reader_for(TEAM_A, role), hidden) for role in (Role.ADMIN, Role.PUBLISHER)]
    table = [
        f"{operation} {ask.path} to {reader.name}: {problem}"
        for operation, asks in TABLE.items()
        if operation.startswith(_OURS)
        for ask in asks
        if "/eu/" not in ask.path
        for asked in (worlds if "{plane}" in ask.path else worlds[:1])
        for reader in readers
        for problem in problems(asked, reader, METHODS[operation], ask)
    ]

    assert table == []


def test_an_administrator_of_a_team_administers_its_documents_and_data_planes_alone(teams, api):
    ours, plane = reader_for(TEAM_A, Role.ADMIN), f"{TEAM_A}-plane"

    def status(method: str, path: str, body: object = None, **headers: str) -> int:
        return int(ours(method, path, body, **headers).status_code)

    document = {"team": TEAM_A, "name": "doc"}
    assert status("POST", "agent-configs:quarantine", document) == 200
    assert status("POST", "agent-configs:readmit", document) == 200
    assert status("POST", "agent-configs:quarantine", {**document, "team": TEAM_B}) == 404
    assert status("PUT", f"agent-configs/{TEAM_A}/more", {"text": config_text(TEAM_A, "more")}) == 201
    assert status("PUT", f"agent-configs/{TEAM_B}/more", {"text": config_text(TEAM_B, "more")}) == 404
    assert status("PUT", "agent-configs/no-such/more", {"text": config_text("x", "more")}) == 404

    assert [item["name"] for item in ours.get("data-planes").json()["items"]] == [plane]
    assert status("GET", f"data-planes/{plane}/config") == 200
    assert status("PUT", f"data-planes/{plane}", {"teams": [TEAM_A], "stage": 1}, If_Match='"v1"') == 200
    assert ours.get(f"data-planes/{plane}").json()["team"] == TEAM_A
    for teams in ([], ["*"], [TEAM_A, TEAM_B]):
        body = {"teams": teams}
        assert status("PUT", f"data-planes/{plane}", body, If_Match='"v2"') == 400, teams
    for other in ("eu", f"{TEAM_B}-plane"):
        assert status("GET", f"data-planes/{other}") == 404
        assert status("PUT", f"data-planes/{other}", {"team": TEAM_A, "teams": [TEAM_A]}) == 404
        assert status("DELETE", f"data-planes/{other}", If_Match='"v1"') == 404
        assert status("GET", f"data-planes/{other}/config") == 404
        assert status("GET", f"agent-config-bundles/{other}/1") == 404
    assert status("PUT", "data-planes/new", {"team": TEAM_A, "teams": [TEAM_A]}) == 201
    assert status("PUT", "data-planes/platforms", {"teams": [TEAM_A]}) == 403
    assert status("PUT", f"data-planes/{plane}", {"team": None, "teams": [TEAM_A]}, If_Match='"v2"') == 403
    assert status("DELETE", "data-planes/new", If_Match='"v1"') == 204

    # These take names from other teams, or concern all.
    grant = {"team": TEAM_A, "pattern": "*"}
    assert status("POST", "agent-config-grants", grant) == 403
    transfer = {"name": "contested_task", "from_team": TEAM_B, "to_team": TEAM_A}
    assert status("POST", "agent-config-claims:transfer", transfer) == 403
    assert status("POST", "agent-config-sources:confirm", {"source": "folder", "digest": "0"}) == 403


def test_an_administrator_of_a_team_names_its_publishers_but_not_its_organisation(teams, api):
    ours = reader_for(TEAM_A, Role.ADMIN)
    team = ours.get(f"agent-config-teams/{TEAM_A}")
    body = {"organisation": team.json()["organisation"], "publishers": ["pa", "va"]}

    changed = ours.put(f"agent-config-teams/{TEAM_A}", body, If_Match=team["ETag"])
    assert (changed.status_code, changed.json()["publishers"]) == (200, ["pa", "va"])
    # It would see the documents of the other organisation's teams.
    body["organisation"] = f"{TEAM_B}-org"
    refused = ours.put(f"agent-config-teams/{TEAM_A}", body, If_Match=changed["ETag"])
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    assert ours.put(f"agent-config-teams/{TEAM_B}", body).status_code == 404
    assert ours.put("agent-config-teams/no-such", body).status_code == 404


def test_an_editor_publishes_for_its_own_team_alone(teams):
    everywhere = Api(token_for("editor"))
    body = {"text": config_text(TEAM_A, "more")}
    assert everywhere.put(f"agent-configs/{TEAM_A}/more", body).status_code == 403
    ours = reader_for(TEAM_A, Role.EDITOR)
    assert ours.put(f"agent-configs/{TEAM_A}/more", body).status_code == 201
    assert ours.put(f"agent-configs/{TEAM_B}/more", body).status_code == 404


def test_a_conflict_within_an_organisation_names_no_winner_of_a_team_that_is_not_seen(api):
    """Without organisations, stored messages name the winner: who sees both teams reads it."""
    api.put("data-planes/eu", {})
    for team in (TEAM_B, TEAM_A):
        api.put(f"agent-config-teams/{team}", {"publishers": []})
        api.put(f"agent-configs/{team}/doc", {"text": config_text(team, "contested_task")})
    ours, everybodys = reader_for(TEAM_A, Role.PUBLISHER), reader_for(TEAM_B, Role.VIEWER, Role.VIEWER)
    paths = (f"agent-configs/{TEAM_A}/doc", "agent-config-conflicts", "events?limit=200")

    for path in paths:
        assert TEAM_B not in ours.get(path).content.decode(), path
    status = ours.get(paths[0]).json()["data_planes"][0]
    messages = {condition["type"]: condition["message"] for condition in status["conditions"]}
    assert "Another team" in messages["Conflicted"]
    assert "another team's document" in status["conflicts"][0]["message"]
    assert (status["conflicts"][0]["winner_team"], status["conflicts"][0]["because"]) == ("", "established")
    body = {"items": [{"team": TEAM_A, "name": "doc", "text": config_text(TEAM_A, "contested_task")}]}
    assert TEAM_B not in ours.post("agent-configs:preview", body).content.decode()
    types = {event["type"] for event in ours.get("events?limit=200").json()["items"]}
    assert {"agent_config.published", "agent_config.status_changed"} <= types

    assert f"of {TEAM_B}" in everybodys.get(paths[0]).content.decode()


def test_a_document_is_served_in_another_teams_data_plane_without_naming_it(teams, api):
    api.put(f"data-planes/{TEAM_B}-all", {"team": TEAM_B})
    ours = reader_for(TEAM_A, Role.ADMIN)
    document, parts = f"agent-configs/{TEAM_A}/doc", "agent-config-parts"

    for path in (document, parts, "agent-config-claims", "events?limit=200", f"task-types/{TEAM_A}_task"):
        assert TEAM_B not in ours.get(path).content.decode(), path
        assert f"{TEAM_B}-all" in api.get(path).content.decode() or path.startswith("events"), path
    named = {status["data_plane"] for status in ours.get(document).json()["data_planes"]}
    assert named == {"eu", f"{TEAM_A}-plane"}


def test_a_team_sees_its_data_plane_but_not_what_others_have_in_it(teams, api):
    plane = f"{TEAM_A}-shared"
    api.put(f"data-planes/{plane}", {"team": TEAM_A})
    DataPlane.objects.filter(name=plane).update(
        held={"digest": "d", "reasons": [{"gate": "misread", "message": TEAM_B}], "changes": [TEAM_B]},
        ack_errors=[{"message": TEAM_B, "path": TEAM_B, "document": TEAM_B}],
    )
    ours = reader_for(TEAM_A, Role.ADMIN)
    shown = ours.get(f"data-planes/{plane}")

    assert shown.status_code == 200
    assert TEAM_B not in shown.content.decode() + ours.get("data-planes").content.decode()
    assert TEAM_B in api.get(f"data-planes/{plane}").content.decode()
    assert TEAM_B in api.get(f"data-planes/{plane}/config").content.decode()
    assert ours.get(f"data-planes/{plane}/config").status_code == 404
    assert ours.get(f"agent-config-bundles/{plane}/1").status_code == 403
    assert ours.post(f"data-planes/{plane}:approve", {"digest": "d"}).status_code == 403
    assert TEAM_B not in ours.get("agent-config-bundles").content.decode()


def test_no_team_delays_the_rollout_of_another(teams, api):
    api.put(f"data-planes/{TEAM_B}-plane", {"team": TEAM_B, "teams": [TEAM_B]}, If_Match='"v1"')
    late = api.put("data-planes/late", {"stage": 5})
    log.number_committed()

    assert late.status_code == 201
    api.put(f"agent-configs/{TEAM_A}/more", {"text": config_text(TEAM_A, "more")})
    held = DataPlane.objects.get(name="late").held
    assert [reason["message"] for reason in held["reasons"]] == [
        "Waiting for eu in an earlier stage to apply the change."
    ]


def test_records_of_documents_and_data_planes_carry_their_owner(teams):
    owned, foreign = get_team(TEAM_A).id, get_team(TEAM_B).id
    rows = Event.objects.filter(team_id=owned)

    assert {"agent_config.published", "publishing_team.changed", "data_plane.registered"} <= set(
        rows.values_list("type", flat=True)
    )
    assert not rows.filter(data__team=TEAM_B).exists()
    assert not Event.objects.filter(team_id=foreign, data__team=TEAM_A).exists()
    bundles = Event.objects.filter(type="agent_config_bundle.activated", object_id="eu")
    assert set(bundles.values_list("team_id", flat=True)) == {None}
    own = Event.objects.filter(type="agent_config_bundle.activated", object_id=f"{TEAM_A}-plane")
    assert set(own.values_list("team_id", flat=True)) == {owned}


def test_a_team_with_documents_or_data_planes_cannot_be_deleted(teams, api):
    api.post("agent-config-grants", {"team": TEAM_A, "pattern": "a_*"})
    with pytest.raises(StillInUse, match="agent configurations, claims, data planes, grants"):
        delete_team(get_team(TEAM_A), actor=ACTOR)
    create_team("empty", actor=ACTOR)
    api.put("agent-config-teams/empty", {"publishers": ["pa"]})
    delete_team(get_team("empty"), actor=ACTOR)
    assert api.get("agent-config-teams/empty").status_code == 404


def test_pages_show_and_change_what_the_teams_administrator_may(teams, api):
    api.put(f"data-planes/{TEAM_B}-all", {"team": TEAM_B})
    person = principals.create_principal("tess", kind=PrincipalKind.PERSON, actor=ACTOR)
    terms = BindingTerms(owned_by=get_team(TEAM_A))
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR, terms=terms)
    browser = Client()
    browser.force_login(person)
    document, plane = f"api/{TEAM_A}/doc", f"{TEAM_A}-plane"
    pages = (
        *("agent-configs", "agent-configs/conflicts", f"agent-configs/documents/{document}"),
        *("agent-configs/planes", f"agent-configs/planes/{plane}", f"agent-configs/planes/{plane}/1"),
        *("agent-configs/try", f"agent-configs/leave-out/{document}", "task-types", ""),
    )

    for page in pages:
        shown = browser.get(f"/{page}")
        assert shown.status_code == 200 or page in ("task-types", ""), page
        assert TEAM_B not in shown.content.decode(), page
    assert TEAM_A in browser.get("/agent-configs").content.decode()
    assert "Quarantine document" in browser.get(f"/agent-configs/documents/{document}").content.decode()
    foreign = f"api/{TEAM_B}/doc"
    hidden_pages = (f"documents/{foreign}", f"leave-out/{foreign}", f"planes/{TEAM_B}-plane", "planes/eu/1")
    assert {browser.get(f"/agent-configs/{page}").status_code for page in hidden_pages} == {404}
    form = {"team": TEAM_A, "name": "doc", "text": config_text(TEAM_A, CONTESTED), "check": "1"}
    checked = browser.post("/agent-configs/try", form)
    assert (checked.status_code, TEAM_B in checked.content.decode()) == (200, False)
    assert browser.post("/agent-configs/try", {**form, "team": TEAM_B}).status_code == 404
