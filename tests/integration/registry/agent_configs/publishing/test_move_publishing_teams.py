"""The upgrade of publishing teams: nobody gains a right, and the way back keeps what was changed since."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.team_models import Membership, Team
from controlplane.identity.callers import Caller
from controlplane.scopes import Scope
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.publishing.teams import may_publish
from registry.agent_configs.team_models import PublishingTeam
from tests.support.api_client import Api, make_principal

_MIGRATION: Any = import_module("migrations.registry.0006_move_publishing_teams")


class _Editor:
    connection = connection


def make_old_row(name: str, organisation: str, publishers: list[str], version: int = 1) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO registry_publishingteam (name, organisation, publishers, version)"
            " VALUES (%s, %s, %s, %s)",
            [name, organisation, json.dumps(publishers), version],
        )


def old_rows() -> dict[str, tuple[str, list[str], int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, organisation, publishers::text, version FROM registry_publishingteam")
        return {name: (place, json.loads(names), version) for name, place, names, version in cursor}


def caller(name: str) -> Caller:
    return caller_for(Principal.objects.get(name=name))


@pytest.fixture
def moved(db: None) -> None:
    make_principal("editor", name="ed")
    make_principal("editor", scope=Scope(project="p"), name="pia")
    make_principal("viewer", name="vic")
    make_principal("admin", name="ada")
    make_principal(name="nobody")
    make_old_row("acme", "acme-inc", ["ada", "ed", "gone", "nobody", "pia", "vic"], version=7)
    make_old_row("rival", "rival-inc", [])
    make_old_row("open", "", ["ed"])
    _MIGRATION.make_teams(apps, _Editor())


@pytest.mark.django_db
def test_each_publishes_and_sees_as_before(moved):
    assert set(Team.objects.values_list("slug", flat=True)) == {"acme", "rival", "open"}
    assert PublishingTeam.objects.get(team__slug="acme").version == 7
    assert not Membership.objects.exists()
    publishes = {
        name: [team for team in ("acme", "rival", "open") if may_publish(caller(name), team)]
        for name in ("ada", "ed", "pia", "vic", "nobody")
    }
    assert publishes == {
        "ada": ["acme", "rival", "open"],
        "ed": ["acme", "open"],
        "pia": ["acme"],
        "vic": [],
        "nobody": [],
    }
    for name in ("ed", "pia", "vic"):
        assert hidden_teams(caller(name)).names == {"rival"}, name
    make_principal("viewer", name="other")
    assert hidden_teams(caller("other")).names == {"acme", "rival"}
    # Without a role, being listed allowed nothing.
    assert "acme" in hidden_teams(caller("nobody"))


def test_the_endpoints_answer_as_before_and_the_version_counts_roles_too(api: Api, moved):
    team = api.get("agent-config-teams/acme")
    assert team.json() == {
        "name": "acme",
        "organisation": "acme-inc",
        "publishers": ["ada", "ed", "pia"],
        "version": 7,
    }
    assert [item["name"] for item in api.get("agent-config-teams").json()["items"]] == [
        "acme",
        "open",
        "rival",
    ]
    RoleBinding.objects.filter(principal__name="pia", role="publisher").delete()
    body = {"organisation": "acme-inc", "publishers": ["ada"]}
    assert api.put("agent-config-teams/acme", body, If_Match=team["ETag"]).status_code == 412
    changed = api.put("agent-config-teams/acme", body, If_Match='"v8"').json()
    assert (changed["publishers"], changed["version"]) == (["ada"], 9)
    again = api.put("agent-config-teams/acme", body, If_Match='"v9"').json()
    assert again["version"] == 9


def test_the_way_back_keeps_what_was_changed_since(api: Api, moved):
    body = {"organisation": "", "publishers": ["ed"]}
    api.put("agent-config-teams/rival", body, If_Match='"v1"')

    _MIGRATION.make_publishing_teams(apps, _Editor())

    assert old_rows() == {
        "acme": ("acme-inc", ["ada", "ed", "pia"], 7),
        "rival": ("", ["ed"], 2),
        "open": ("", ["ed"], 1),
    }
    _MIGRATION.make_teams(apps, _Editor())
    assert api.get("agent-config-teams/rival").json()["publishers"] == ["ed"]
