"""Pages of people, teams, roles, role bindings and who can."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import CustomRole, Principal, RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Membership, Team
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, logged_in, make_principal


@pytest.fixture
def browser(db):
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def ml(browser):
    return create_team("ml", actor=ACTOR, title="Machine learning")


@pytest.fixture
def lead(ml):
    """The browser of somebody who administers team ml alone."""
    person = principals.create_principal("lead", kind="person", actor=ACTOR)
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=ml))
    client = Client()
    client.force_login(person)
    return client


def text_of(answer):
    return answer.content.decode()


def test_people_are_shown_with_teams_roles_and_activity(browser, ml):
    ada = make_principal("viewer", name="ada")
    add_member(ml, ada, actor=ACTOR)
    add_member(ml, ada, actor=ACTOR, via="claim")
    principals.create_principal("robot", kind="agent", actor=ACTOR)

    page = text_of(browser.get("/people?q=ada"))

    assert (page.count(">ml</a>"), "viewer at global" in page, "never" in page) == (1, True, True)
    everybody = text_of(browser.get("/people"))
    assert ("jane" in everybody, "robot" in everybody) == (True, False)
    assert "robot" in text_of(browser.get("/people?kind=agent"))
    assert browser.get("/people?q=%00").status_code == 200


def test_people_are_deactivated_and_activated_again(browser):
    ada = make_principal("viewer", name="ada")

    asked = text_of(browser.get("/people/ada/switch"))
    done = browser.post("/people/ada/switch", {}, follow=True)

    assert "tokens and sessions stop working" in asked
    assert "Deactivated ada" in text_of(done)
    ada.refresh_from_db()
    assert not ada.is_active
    browser.post("/people/ada/switch", {})
    assert Principal.objects.get(name="ada").is_active
    last = browser.post("/people/jane/switch", {})
    assert (last.status_code, Principal.objects.get(name="jane").is_active) == (409, True)


def test_a_team_is_made_filled_changed_emptied_and_deleted(browser):
    make_principal(name="ada")

    made = browser.post("/teams", {"slug": "ml", "title": "ML"})
    added = browser.post("/teams/ml/members", {"principal": "ada"}, follow=True)
    browser.post("/teams/ml", {"title": "Machine learning", "version": "1"})
    stale = browser.post("/teams/ml", {"title": "X", "version": "1"})

    assert made["Location"] == "/teams/ml"
    assert "Added ada to team ml" in text_of(added)
    assert (stale.status_code, Team.objects.get().title) == (412, "Machine learning")
    role_bindings.bind_role(Team.objects.get(), Role.EDITOR, Scope(), actor=ACTOR)
    assert "override.write at global" in text_of(browser.get("/teams/ml/members/ada/remove"))
    browser.post("/teams/ml/members/ada/remove", {})
    assert not Membership.objects.exists()
    assert "1 of the team, 0 limited" in text_of(browser.get("/teams/ml/delete"))
    assert browser.post("/teams/ml/delete", {})["Location"] == "/teams"
    assert browser.get("/teams/ml").status_code == 404
    assert browser.post("/teams", {"slug": "A b"}).status_code == 400


def test_the_administrator_of_a_team_manages_it_and_sees_no_other(lead, ml):
    create_team("ads", actor=ACTOR)
    make_principal(name="ada")

    teams, page = text_of(lead.get("/teams")), text_of(lead.get("/teams/ml"))

    assert ("ads" in teams, "New team" in teams, "Delete team" in page) == (False, False, False)
    lead.post("/teams/ml/members", {"principal": "ada"})
    assert ml.memberships.get().principal.name == "ada"
    assert lead.get("/teams/ads").status_code == 404
    assert lead.post("/teams/ads/members", {"principal": "ada"}).status_code == 404
    assert lead.get("/teams/ml/delete").status_code == 403
    assert lead.post("/teams", {"slug": "mine"}).status_code == 403
    assert lead.get("/people").status_code == 403
    granted = lead.post("/role-bindings", {"holder": "ada", "role": "operator", "owned_by": "ml"})
    assert granted["Location"] == "/role-bindings?principal=ada"
    assert lead.post("/role-bindings", {"holder": "ada", "role": "operator"}).status_code == 403
    bindings = text_of(lead.get("/role-bindings"))
    assert ("operator" in bindings, "jane" in bindings) == (True, False)
    binding = RoleBinding.objects.get(principal__name="jane")
    assert lead.post(f"/role-bindings/{binding.id}/remove", {}).status_code == 404


def test_a_role_for_a_team_until_a_time_is_granted_and_shown(browser, ml):
    body = {"holder": "team:ml", "role": "operator", "owned_by": "ml", "expires_at": "2099-01-01T00:00"}

    granted = browser.post("/role-bindings", body, follow=True)

    page = text_of(granted)
    assert "Granted the role operator at global for team ml to team:ml" in page
    assert "2099-01-01 00:00 UTC" in page
    assert "operator" in text_of(browser.get("/teams/ml"))
    assert browser.post("/role-bindings", {**body, "expires_at": "2020-01-01T00:00"}).status_code == 400
    assert "No roles for team ads" in text_of(browser.get("/role-bindings?team=ads"))


def test_a_role_of_ones_own_is_made_changed_and_deleted(browser):
    made = browser.post("/roles", {"name": "janitor", "title": "J", "may:agent.read": "on"}, follow=True)
    role = CustomRole.objects.get()

    assert "Created the role janitor" in text_of(made)
    assert role.actions == ["agent.read"]
    changed = {"title": "J", "version": "1", "may:agent.write": "on", "may:agent.read": "on"}
    browser.post("/roles/janitor", changed)
    stale = browser.post("/roles/janitor", {**changed, "may:audit.read": "on"})
    role.refresh_from_db()
    assert (stale.status_code, role.actions) == (412, ["agent.read", "agent.write"])
    assert browser.post("/roles", {"name": "empty"}).status_code == 400
    assert browser.post("/roles", {"name": "bad", "may:agent.explode": "on"}).status_code == 400
    assert "Built-in roles cannot be changed" in text_of(browser.get("/roles/admin"))
    assert browser.post("/roles/admin", {"may:agent.read": "on", "version": "0"}).status_code == 409
    browser.post("/roles/janitor/delete", {})
    assert not CustomRole.objects.exists()


def test_who_can_names_everybody_and_by_what(browser, ml, lead):
    add_member(ml, make_principal(name="ada"), actor=ACTOR, via="claim")
    role_bindings.bind_role(ml, Role.OPERATOR, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=ml))

    page = text_of(browser.get("/who-can?action=agent.write&team=ml"))

    assert all(name in page for name in ("ada", "jane", "lead", "team ml", "claim"))
    assert "ada" not in text_of(browser.get("/who-can?action=agent.write"))
    assert "only roles at the global scope" in text_of(
        browser.get("/who-can?action=agent.read&domain=production")
    )
    assert browser.get("/who-can").status_code == 200
    assert "Choose a scope or team" in text_of(lead.get("/who-can"))
    assert "ada" in text_of(lead.get("/who-can?action=agent.write&team=ml"))
    assert lead.get("/who-can?action=agent.write").status_code == 403
    assert logged_in("eve", Role.EDITOR).get("/who-can").status_code == 403
