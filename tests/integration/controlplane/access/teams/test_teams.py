"""Teams and their members: changes, their records, and what is protected."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Membership, Team
from controlplane.access.teams.memberships import add_member, remove_member, teams_of
from controlplane.access.teams.teams import change_team, create_team, delete_team, get_team
from controlplane.errors import (
    InvalidRequest,
    LastAdministrator,
    NameTaken,
    UnknownMember,
    UnknownTeam,
    VersionMismatch,
    VersionRequired,
)
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_principal


@pytest.fixture
def admin(db):
    return make_principal("admin", name="root")


@pytest.mark.parametrize("slug", ["", "ML", "a--b", "-a", "a-", "a_b", "é", "x" * 64, "a\n"])
@pytest.mark.django_db
def test_a_name_that_would_be_trouble_is_refused(slug):
    with pytest.raises(InvalidRequest):
        create_team(slug, actor=ACTOR)


@pytest.mark.django_db
def test_a_team_is_made_changed_and_deleted_with_records_of_each(admin):
    team = create_team("ml", actor=ACTOR, title="Machine learning")
    change_team(team, actor=ACTOR, title="ML", external_group="cp-ml")
    change_team(team, actor=ACTOR, title="ML", external_group="cp-ml")
    delete_team(team, actor=ACTOR)

    assert list(
        AuditRecord.objects.filter(object_type="team").order_by("id").values_list("action", flat=True)
    ) == [
        "team.created",
        "team.changed",
        "team.deleted",
    ]
    assert set(Event.objects.filter(type__startswith="team.").values_list("team_id", flat=True)) == {team.id}
    with pytest.raises(UnknownTeam):
        get_team("ml")
    with pytest.raises(UnknownTeam):
        delete_team(team, actor=ACTOR)


@pytest.mark.django_db
def test_names_and_groups_are_taken_once():
    create_team("ml", actor=ACTOR, external_group="cp-ml")
    ads = create_team("ads", actor=ACTOR)

    with pytest.raises(NameTaken, match="'ml' already exists"):
        create_team("ml", actor=ACTOR)
    with pytest.raises(NameTaken, match="group 'cp-ml'"):
        create_team("other", actor=ACTOR, external_group="cp-ml")
    with pytest.raises(NameTaken, match="group 'cp-ml'"):
        change_team(ads, actor=ACTOR, title="", external_group="cp-ml")


@pytest.mark.django_db
def test_a_change_that_was_not_seen_is_not_overwritten(admin):
    team = create_team("ml", actor=ACTOR)
    change_team(team, actor=ACTOR, title="A", external_group=None, precondition=Precondition(frozenset({1})))

    with pytest.raises(VersionMismatch):
        change_team(
            team, actor=ACTOR, title="B", external_group=None, precondition=Precondition(frozenset({1}))
        )
    with pytest.raises(VersionRequired):
        delete_team(team, actor=ACTOR, precondition=Precondition())
    assert Team.objects.get().title == "A"


@pytest.mark.django_db
def test_members_come_and_go_by_the_origin_that_brought_them(admin):
    ml, ada = create_team("ml", actor=ACTOR), make_principal(name="ada")

    assert add_member(ml, ada, actor=ACTOR)
    assert not add_member(ml, ada, actor=ACTOR)
    assert add_member(ml, ada, actor=ACTOR, via="claim")
    remove_member(ml, ada, actor=ACTOR)
    assert teams_of(ada.id) == [ml]
    with pytest.raises(UnknownMember, match="claim of the identity provider"):
        remove_member(ml, ada, actor=ACTOR)
    with pytest.raises(UnknownMember, match="not a member"):
        remove_member(ml, admin, actor=ACTOR)
    remove_member(ml, ada, actor=ACTOR, via="claim")

    assert teams_of(ada.id) == []
    actions = (
        Event.objects.filter(object_type="membership").order_by("position").values_list("type", flat=True)
    )
    assert list(actions) == ["membership.added"] * 2 + ["membership.removed"] * 2


@pytest.mark.django_db
def test_a_team_goes_with_its_roles_and_members_and_other_roles_stay(admin):
    ml, ada = create_team("ml", actor=ACTOR), make_principal("viewer", name="ada")
    add_member(ml, ada, actor=ACTOR)
    role_bindings.bind_role(ml, Role.EDITOR, Scope(), actor=ACTOR)
    role_bindings.bind_role(ada, Role.OPERATOR, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=ml))

    delete_team(ml, actor=ACTOR)

    assert not Membership.objects.exists()
    assert set(RoleBinding.objects.values_list("role", flat=True)) == {"admin", "viewer"}


@pytest.fixture
def operations(admin):
    """A team that alone administers everything, with one member."""
    team = create_team("operations", actor=ACTOR)
    role_bindings.bind_role(team, Role.ADMIN, Scope(), actor=ACTOR)
    add_member(team, make_principal(name="ada"), actor=ACTOR)
    role_bindings.unbind_role(RoleBinding.objects.get(principal=admin).id, actor=ACTOR)
    return team


@pytest.mark.django_db
def test_the_last_administrator_is_kept_when_it_is_one_by_its_team(operations):
    ada = operations.memberships.get().principal
    changes = [
        lambda: remove_member(operations, ada, actor=ACTOR),
        lambda: delete_team(operations, actor=ACTOR),
        lambda: principals.set_active("ada", is_active=False, actor=ACTOR),
        lambda: role_bindings.unbind_role(operations.role_bindings.get().id, actor=ACTOR),
    ]
    for change in changes:
        with pytest.raises(LastAdministrator):
            change()

    # A second membership of the same person keeps it, and a second member does.
    add_member(operations, ada, actor=ACTOR, via="claim")
    remove_member(operations, ada, actor=ACTOR)
    add_member(operations, make_principal(name="joe"), actor=ACTOR)
    remove_member(operations, ada, actor=ACTOR, via="claim")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "make",
    [
        lambda: make_principal("admin", scope=Scope(project="ads")),
        lambda: role_bindings.bind_role(
            make_principal(),
            Role.ADMIN,
            Scope(),
            actor=ACTOR,
            terms=BindingTerms(owned_by=create_team("ml", actor=ACTOR)),
        ),
        lambda: role_bindings.bind_role(create_team("empty", actor=ACTOR), Role.ADMIN, Scope(), actor=ACTOR),
        lambda: principals.set_active(make_principal("admin").name, is_active=False, actor=ACTOR),
    ],
    ids=["of a project", "of a team's objects", "by a team without members", "inactive"],
)
def test_who_does_not_administer_everything_is_no_last_administrator(admin, make):
    make()

    with pytest.raises(LastAdministrator):
        role_bindings.unbind_role(RoleBinding.objects.get(principal=admin).id, actor=ACTOR)


def in_parallel(*changes) -> list[str]:
    """Return what each change raised, or "done"."""

    def attempt(change) -> str:
        try:
            change()
        except LastAdministrator as error:
            return type(error).__name__
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(len(changes)) as pool:
        return sorted(pool.map(attempt, changes))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempt", range(3))
def test_of_two_that_remove_the_last_two_administrators_at_once_one_is_refused(attempt):
    bindings = [make_principal("admin").role_bindings.get().id for _ in range(2)]

    results = in_parallel(*(lambda id=id: role_bindings.unbind_role(id, actor=ACTOR) for id in bindings))

    assert results == ["LastAdministrator", "done"]
    assert RoleBinding.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_every_way_to_remove_an_administrator_waits_for_the_others():
    team = create_team("operations", actor=ACTOR)
    role_bindings.bind_role(team, Role.ADMIN, Scope(), actor=ACTOR)
    ada, joe = make_principal(name="ada"), make_principal(name="joe")
    for principal in (ada, joe):
        add_member(team, principal, actor=ACTOR)
    own = make_principal("admin").role_bindings.get().id

    results = in_parallel(
        lambda: role_bindings.unbind_role(own, actor=ACTOR),
        lambda: remove_member(team, ada, actor=ACTOR),
        lambda: principals.set_active("joe", is_active=False, actor=ACTOR),
        lambda: remove_member(team, joe, actor=ACTOR),
    )

    assert results.count("LastAdministrator") in (1, 2)
    role_bindings.check_administrator_remains()
