"""Claims of a login become teams and roles, replaced as a set, without removing the last administrator."""

from __future__ import annotations

import pytest

from controlplane.access import principals, role_bindings
from controlplane.access.login.oidc.identities import link_identity
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.team_models import Membership, Organisation
from controlplane.access.teams.teams import create_team
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR
from tests.support.logins import Person

RULES = [
    {"value": "cp-ml-*", "team": "ml", "role": "editor", "scope": {"project": "ml-*"}},
    {"value": "cp-admins", "role": "admin"},
    {"value": "cp-viewers", "role": "viewer"},
]


@pytest.fixture
def ml(db):
    return create_team("ml", actor=ACTOR)


@pytest.fixture
def ruled(configure):
    configure(rules=RULES)
    return configure


def roles_of(person):
    rows = RoleBinding.objects.filter(principal__name=person.account).select_related("owned_by")
    return {(row.role, str(row.scope), str(row.owned_by or ""), row.via) for row in rows}


def teams_of(person):
    rows = Membership.objects.filter(principal__name=person.account)
    return {(row.team.slug, row.via) for row in rows.select_related("team")}


def log_in_again(person, **claims):
    person.console.get("/logout")
    person.set_claims(**claims)
    assert person.log_in().status_code == 302


def test_groups_give_teams_and_roles_at_scopes(person, ruled, ml):
    person.set_claims(groups=["cp-ml-vision", "unrelated"])

    person.log_in()

    assert roles_of(person) == {("editor", "project=ml-vision", "ml", "claim")}
    assert teams_of(person) == {("ml", "claim")}
    (event,) = Event.objects.filter(type="role.claimed")
    assert (event.data["principal"], event.data["provider"]) == (person.account, "idp")


def test_the_next_login_replaces_them_as_a_set(api, person, ruled, ml):
    person.set_claims(groups=["cp-ml-vision", "cp-viewers"])
    person.log_in()

    log_in_again(person, groups=["cp-viewers"])

    assert roles_of(person) == {("viewer", "global", "", "claim")}
    assert teams_of(person) == set()
    assert Event.objects.filter(type="role.unclaimed").count() == 1


def test_roles_given_by_hand_stay_unless_the_provider_is_authoritative(api, person, ruled):
    person.log_in()
    ada = Principal.objects.get(name=person.account)
    role_bindings.bind_role(ada, Role.EDITOR, Scope(project="by-hand"), actor=ACTOR)

    log_in_again(person, groups=["cp-viewers"])
    assert {role for role, *_ in roles_of(person)} == {"editor", "viewer"}

    ruled(rules=RULES, authoritative=True)
    log_in_again(person, groups=["cp-viewers"])
    assert {role for role, *_ in roles_of(person)} == {"viewer"}


def test_a_claim_cannot_remove_the_last_administrator(person, ruled):
    person.set_claims(groups=["cp-admins"])
    person.log_in()

    log_in_again(person, groups=[])

    assert roles_of(person) == {("admin", "global", "", "claim")}


def test_a_person_without_a_role_sees_so_and_whom_to_ask(person, ruled, settings):
    settings.ACCESS_CONTACT = "platform@example.com"
    person.log_in()

    response = person.console.get("/")

    assert response.status_code == 403
    page = response.content.decode()
    assert f"You are logged in as <b>{person.account}</b> and have no role yet." in page
    assert "platform@example.com" in page


def test_too_many_groups_are_refused_with_what_to_do(person, configure):
    configure(kind="entra", rules=RULES)
    person.set_claims(groups=None, hasgroups=True)

    response = person.log_in()

    assert response.status_code == 403
    assert "too many groups: use app roles (`roles` claim)" in response.content.decode()


def test_a_domain_that_is_not_allowed_is_refused(person, configure):
    configure(allowed_domains=["work.example"])
    assert person.log_in().status_code == 403

    person.set_claims(email=f"{person.account}@work.example", email_verified=False)
    assert person.log_in().status_code == 403

    person.set_claims(email=f"{person.account}@work.example", email_verified=True)
    assert person.log_in().status_code == 302


def test_google_accounts_need_an_allowed_hosted_domain(person, configure):
    configure(kind="google", allowed_domains=["work.example"])
    person.set_claims(email=f"{person.account}@work.example")
    assert person.log_in().status_code == 403

    person.set_claims(hd="work.example")
    assert person.log_in().status_code == 302


def test_another_tenant_is_refused(person, configure):
    tenant = "0b1c0f6e-8b7e-4b3f-9a52-3f6f0a4a2c11"
    configure(kind="entra", tenants=[tenant])
    person.set_claims(tid="9f1c0f6e-8b7e-4b3f-9a52-3f6f0a4a2c11")
    assert person.log_in().status_code == 403

    person.set_claims(tid=tenant)
    assert person.log_in().status_code == 302


def test_people_of_a_tenants_provider_belong_to_the_tenant_and_nobody_else_gets_roles_there(
    person, configure, identity_provider
):
    Organisation.objects.create(slug="acme")
    configure(rules=RULES, organisation="acme")
    person.set_claims(groups=["cp-viewers"])
    assert person.log_in().status_code == 302
    assert Principal.objects.get(name=person.account).organisation.slug == "acme"

    operator = principals.create_principal("operator", kind="person", actor=ACTOR)
    other = Person(identity_provider, "operator-at-the-provider", groups=["cp-admins"])
    link_identity(operator, identity_provider.issuer, other.account, actor=ACTOR)
    assert other.log_in().status_code == 403
    assert not RoleBinding.objects.filter(principal=operator).exists()
