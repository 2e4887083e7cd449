"""A recent login for sensitive actions, at a real identity provider."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from controlplane.access.login.login_details import SESSION_KEY
from controlplane.access.models import AuditRecord, Principal, RoleBinding
from controlplane.access.role_bindings import bind_role
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_principal

ROLE = {"principal": "ci", "role": "viewer", "scope": {}}


@pytest.fixture
def administrator(person):
    """An administrator who logged in at the provider an hour ago."""
    make_principal(name="ci")
    person.log_in()
    bind_role(Principal.objects.get(name=person.account), Role.ADMIN, Scope(), actor=ACTOR)
    age(person)
    return person


def age(person):
    session = person.console.session
    hour_ago = int((timezone.now() - timedelta(hours=1)).timestamp())
    session[SESSION_KEY] = {**session[SESSION_KEY], "auth_time": hour_ago}
    session.save()


def grant(person):
    return person.console.post("/api/v1/role-bindings", ROLE, content_type="application/json").status_code


def test_the_person_logs_in_again_at_the_provider_and_returns(administrator):
    assert grant(administrator) == 401
    binding = RoleBinding.objects.get(principal__name=administrator.account)
    asked = administrator.console.get(f"/role-bindings/{binding.id}/remove")
    page = administrator.console.get(asked.url).content.decode()
    link = "/login?reauthenticate=1&redirect_url=%2Ftokens&idp=idp"

    assert "You logged in at idp" in page
    assert 'type="password"' not in page
    authorization_url = administrator.begin(link)
    query = parse_qs(urlsplit(authorization_url).query)
    assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
    assert "acr_values" not in query

    returned = administrator.console.get(administrator.confirm(authorization_url))

    assert returned.url == "/tokens"
    assert grant(administrator) == 201
    (record,) = AuditRecord.objects.filter(action="access.step_up")
    assert record.actor == administrator.account
    issuer = administrator.provider.issuer
    changed = AuditRecord.objects.filter(action="role.bound", actor=administrator.account).latest("id")
    assert changed.identity.startswith(f"{issuer}#")


def test_the_strength_that_the_operator_wants_is_asked_for_and_checked(administrator, settings):
    settings.STEP_UP_ACR = ["mfa"]
    query = parse_qs(urlsplit(administrator.begin("/login?reauthenticate=1&idp=idp")).query)
    administrator.log_in("/login?reauthenticate=1&idp=idp")

    assert query["acr_values"] == ["mfa"]
    # The provider stated no such strength.
    assert grant(administrator) == 401


def test_a_password_does_not_replace_the_provider(administrator):
    person = Principal.objects.get(name=administrator.account)
    person.set_password("a long enough passphrase")
    person.save()

    administrator.console.post("/login/step-up", {"password": "a long enough passphrase", "next": "/"})

    assert grant(administrator) == 401
