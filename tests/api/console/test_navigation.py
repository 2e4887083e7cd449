"""The navigation has what opens for its reader, and nothing else."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from console.navigation import SECTIONS
from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_project

EVERYWHERE, PROJECT, TEAM = "everywhere", "in a project", "for a team"


def browser_of(role: Role, where: str) -> Client:
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    if where == PROJECT:
        make_project("ads")
    scope = Scope(project="ads") if where == PROJECT else Scope()
    terms = BindingTerms(owned_by=create_team("ml", actor=ACTOR)) if where == TEAM else BindingTerms()
    role_bindings.bind_role(person, role, scope, actor=ACTOR, terms=terms)
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.mark.django_db
def test_pages_of_the_login_have_it_too() -> None:
    frame = browser_of(Role.VIEWER, EVERYWHERE).get(reverse("device")).content.decode()

    assert f'href="{reverse("overrides")}"' in frame


@pytest.mark.django_db
@pytest.mark.parametrize("where", [EVERYWHERE, PROJECT, TEAM])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR, Role.ADMIN])
def test_it_has_the_sections_that_open(role: Role, where: str) -> None:
    browser = browser_of(role, where)
    # A page that opens for everybody.
    frame = browser.get(reverse("tokens")).content.decode()

    for section in SECTIONS:
        url = reverse(section.page)
        opens = browser.get(url, follow=True).status_code == 200
        assert (f'<a href="{url}" data-key="{section.key}"' in frame) == opens, section.page


def test_each_key_leads_to_one_section() -> None:
    assert len({section.key for section in SECTIONS}) == len(SECTIONS)


def test_there_are_five_areas_after_the_dashboard() -> None:
    areas = list(dict.fromkeys(section.group for section in SECTIONS))

    assert areas == ["", "Configuration", "Fleet", "Delivery", "Activity", "Settings"]
