"""Teams and roles from claims: replaced as a set, beside what was given by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from controlplane.access import role_bindings
from controlplane.access.models import CustomRole, Principal, RoleBinding
from controlplane.access.team_models import Membership, Team
from controlplane.access.teams.claimed import ClaimedRole, replace_claimed
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_principal

pytestmark = pytest.mark.django_db
EDITOR = ClaimedRole("editor", Scope(project="ml"))
PUBLISHER = ClaimedRole("publisher", team="ml")
ADMIN = ClaimedRole("admin")


@pytest.fixture
def ada(db) -> Principal:
    make_principal("admin", name="root")
    for slug in ("ml", "ads", "ops"):
        create_team(slug, actor=ACTOR)
    return make_principal(name="ada")


def claim(principal, teams=(), roles=(), **options):
    replace_claimed(principal, teams, roles, actor=ACTOR, **options)


def held(principal) -> set[str]:
    roles = {f"{row.grant} ({row.via})" for row in RoleBinding.objects.filter(principal=principal)}
    return roles | {f"{row.team} ({row.via})" for row in Membership.objects.filter(principal=principal)}


def test_claims_replace_each_other_as_a_set(ada):
    claim(ada, ["ml", "ads"], [EDITOR, PUBLISHER])
    assert held(ada) == {
        "editor at project=ml (claim)",
        "publisher at global for team ml (claim)",
        "ml (claim)",
        "ads (claim)",
    }

    claim(ada, ["ads", "ops"], [EDITOR])
    assert held(ada) == {"editor at project=ml (claim)", "ads (claim)", "ops (claim)"}

    claim(ada)
    assert held(ada) == set()


def test_the_same_claims_again_change_and_record_nothing(ada):
    claim(ada, ["ml"], [EDITOR, PUBLISHER])
    before, rows = Event.objects.count(), set(RoleBinding.objects.values_list("id", flat=True))

    claim(ada, ["ml", "ml"], [PUBLISHER, EDITOR, EDITOR])

    assert Event.objects.count() == before
    assert set(RoleBinding.objects.values_list("id", flat=True)) == rows


def test_what_was_given_by_hand_stays_even_if_a_claim_gave_it_too(ada):
    role_bindings.bind_role(ada, Role.EDITOR, Scope(project="ml"), actor=ACTOR)
    add_member(Team.objects.get(slug="ml"), ada, actor=ACTOR)

    claim(ada, ["ml"], [EDITOR])
    assert len(held(ada)) == 4
    claim(ada)

    assert held(ada) == {"editor at project=ml (manual)", "ml (manual)"}


def test_claims_of_an_authoritative_provider_remove_roles_given_by_hand(ada):
    role_bindings.bind_role(ada, Role.EDITOR, Scope(), actor=ACTOR)
    role_bindings.bind_role(ada, Role.EDITOR, Scope(project="ml"), actor=ACTOR)

    claim(ada, [], [EDITOR], is_authoritative=True)

    assert held(ada) == {"editor at project=ml (claim)"}


def test_what_does_not_exist_is_skipped_and_the_rest_is_given(ada):
    claim(
        ada,
        ["gone", "ml"],
        [ClaimedRole("viewer", team="gone"), ClaimedRole("retired-role"), EDITOR],
    )

    assert held(ada) == {"editor at project=ml (claim)", "ml (claim)"}


def test_an_own_role_is_given_by_its_name(ada):
    CustomRole.objects.create(name="janitor", actions=["agent.write"])

    claim(ada, [], [ClaimedRole("janitor", team="ml")])
    claim(ada, [], [ClaimedRole("janitor", team="ml")])

    assert held(ada) == {"janitor at global for team ml (claim)"}


def test_a_claim_cannot_make_the_last_administrator_vanish(ada):
    claim(ada, [], [ADMIN])
    role_bindings.unbind_role(RoleBinding.objects.get(principal__name="root").id, actor=ACTOR)

    claim(ada, ["ml"], [EDITOR], is_authoritative=True)

    assert held(ada) == {"admin at global (claim)", "editor at project=ml (claim)", "ml (claim)"}


def test_the_last_administrator_by_a_team_stays_in_it_and_still_moves_between_others(ada):
    role_bindings.bind_role(Team.objects.get(slug="ops"), Role.ADMIN, Scope(), actor=ACTOR)
    claim(ada, ["ops", "ml"])
    role_bindings.unbind_role(RoleBinding.objects.get(principal__name="root").id, actor=ACTOR)

    claim(ada, ["ads"])

    assert held(ada) == {"ops (claim)", "ads (claim)"}


@pytest.mark.django_db(transaction=True)
def test_a_person_who_logs_in_twice_at_once_gets_everything_once(transactional_db):
    make_principal("admin")
    create_team("ml", actor=ACTOR)
    person = make_principal(name="ada")

    def log_in(_: int) -> None:
        try:
            claim(person, ["ml"], [EDITOR, PUBLISHER])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(log_in, range(4)))

    assert len(held(person)) == RoleBinding.objects.filter(principal=person).count() + 1 == 3
