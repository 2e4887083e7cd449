"""Pages of people, teams and roles, as people meet them; a team is filled without a mouse."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from controlplane.access import principals, role_bindings
from controlplane.access.models import CustomRole, Principal
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.browser.conftest import Look
from tests.support.api_client import ACTOR, make_principal

# name of the picture, address
PAGES = {
    "people": "/people",
    "team": "/teams/ml",
    "roles": "/roles",
    "role": "/roles/agent-janitor",
    "who-can": "/who-can?action=agent.write&team=ml",
}


def make_teams() -> None:
    ml = create_team("ml", actor=ACTOR, title="Machine learning")
    create_team("ads", actor=ACTOR, title="Advertising", external_group="cp-ads")
    for name, via in (("ada", "manual"), ("grace", "claim"), ("ci-training", "scim")):
        add_member(ml, make_principal(name=name), actor=ACTOR, via=via)
    Principal.objects.filter(name="ada").update(kind="person", display_name="Ada Lovelace")
    principals.set_active("grace", is_active=False, actor=ACTOR)
    janitor = CustomRole.objects.create(
        name="agent-janitor", title="Drains and retires agents", actions=["agent.read", "agent.write"]
    )
    terms = BindingTerms(owned_by=ml)
    role_bindings.bind_role(ml, janitor, Scope(), actor=ACTOR, terms=terms)
    role_bindings.bind_role(ml, Role.EDITOR, Scope(project="flytesnacks"), actor=ACTOR)
    ada = Principal.objects.get(name="ada")
    role_bindings.bind_role(ada, Role.ADMIN, Scope(), actor=ACTOR, terms=terms)


def test_every_page_about_access_hinders_nobody(page: Page, look: Look) -> None:
    make_teams()
    for name, address in PAGES.items():
        look(name, address)


def test_a_team_is_made_and_filled_without_a_mouse(page: Page) -> None:
    make_principal(name="ada")
    page.goto("/teams")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("ml")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Members")).to_be_visible()
    page.get_by_label("Principal").focus()
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="ada")).to_be_visible()
