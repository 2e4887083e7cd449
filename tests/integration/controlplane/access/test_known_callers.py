"""Reads of known callers: no second look at the token, and any change counts for the very next request."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from controlplane.access import role_bindings
from controlplane.access.known_callers import AccessState, known_caller
from controlplane.access.models import CustomRole, Principal, RoleBinding, Token
from controlplane.access.principals import create_token
from controlplane.access.team_models import Team
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, make_principal

NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def ada(db):
    make_principal("admin")
    return make_principal("viewer", name="ada")


@pytest.fixture
def api(ada):
    """A client of ada, whose first read was answered."""
    _, secret = create_token(ada, name="ci", expires_at=None, actor=ACTOR)
    client = Api(secret)
    assert client.get("me").status_code == 200
    return client


def me(api):
    body = api.get("me").json()
    return [grant["role"] for grant in body["grants"]], body["teams"]


def test_a_read_of_a_known_caller_looks_only_at_the_epoch(api):
    with CaptureQueriesContext(connection) as queries:
        assert me(api) == (["viewer"], [])

    assert len(queries) == 1
    assert "access_epoch" in queries[0]["sql"]
    assert "access_token" not in queries[0]["sql"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: Token.objects.update(revoked_at=Now()), "was revoked"),
        (lambda: Token.objects.update(expires_at=Now() - timedelta(minutes=10)), "has expired"),
        (lambda: Token.objects.all().delete(), "Unknown token"),
        (lambda: Principal.objects.filter(name="ada").update(is_active=False), "is disabled"),
    ],
)
def test_a_token_that_no_longer_holds_is_refused_at_once(api, change, reason):
    change()

    for _ in range(2):
        refused = api.get("me")
        assert refused.status_code == 401
        assert reason in refused.json()["detail"]


def test_changed_roles_and_teams_count_at_once(api, ada):
    ml = create_team("ml", actor=ACTOR)
    add_member(ml, ada, actor=ACTOR)
    assert me(api) == (["viewer"], ["ml"])

    role_bindings.bind_role(ml, Role.EDITOR, Scope(), actor=ACTOR)
    assert me(api) == (["viewer", "editor"], ["ml"])

    Team.objects.filter(slug="ml").update(slug="research")
    assert me(api) == (["viewer", "editor"], ["research"])

    remove_member(ml, ada, actor=ACTOR)
    assert me(api) == (["viewer"], [])

    RoleBinding.objects.filter(principal=ada).delete()
    assert me(api) == ([], [])
    assert api.get("overrides").status_code == 403


def test_a_changed_role_of_ones_own_counts_at_once(api, ada):
    role = CustomRole.objects.create(name="janitor", actions=["audit.read"])
    RoleBinding.objects.filter(principal=ada).delete()
    role_bindings.bind_role(ada, role, Scope(), actor=ACTOR)
    assert api.get("audit").status_code == 200

    CustomRole.objects.update(actions=["agent.read"])

    assert api.get("audit").status_code == 403


def test_the_last_use_is_written_again_after_a_minute(api):
    Token.objects.update(last_used_at=None)
    assert me(api) == (["viewer"], [])
    assert Token.objects.get().last_used_at is None  # a recent use is not written again

    token = Token(last_used_at=NOW - timedelta(seconds=50))
    kept = known_caller(Caller(None, "ada", "service", ()), token, b"e", NOW)
    assert kept.ends_at == (NOW + timedelta(seconds=10)).timestamp()


@pytest.mark.parametrize(
    ("token_ends", "grants_end", "seconds"),
    [(None, None, 60), (5, None, 5), (None, 7, 7), (5, 7, 5), (90, 80, 60)],
)
def test_what_is_kept_ends_with_what_ends_first(token_ends, grants_end, seconds):
    def later(count):
        return None if count is None else NOW + timedelta(seconds=count)

    caller = Caller(uuid4(), "ada", "service", (), grants_end_at=later(grants_end))
    kept = known_caller(caller, Token(expires_at=later(token_ends)), b"epoch", NOW)

    end = NOW.timestamp() + seconds
    assert kept.holds(AccessState(b"epoch", end - 0.001))
    assert not kept.holds(AccessState(b"epoch", end))
    assert not kept.holds(AccessState(b"other", end - 0.001))


def test_without_an_epoch_nothing_is_known(api):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM access_epoch")

    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert api.get("me").status_code == 200
        assert any("access_token" in query["sql"] for query in queries)
    assert api.get("me").status_code == 200


KEPT = {
    "access_token": ("id", "principal_id", "digest", "expires_at", "revoked_at", "scopes", "auth_time"),
    "access_principal": ("id", "name", "kind", "is_active", "organisation_id"),
    "access_organisation": ("slug",),
    "access_team": ("slug",),
}


def epoch_after(statement: str) -> bytes:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        cursor.execute("SELECT epoch FROM access_epoch")
        return cursor.fetchone()[0]


@pytest.mark.parametrize(("table", "column"), [(table, column) for table in KEPT for column in KEPT[table]])
def test_a_change_by_hand_of_what_is_kept_moves_the_epoch(db, table, column):
    before = epoch_after("SELECT 1")

    assert epoch_after(f"UPDATE {table} SET {column} = {column}") != before


@pytest.mark.django_db(transaction=True)
def test_a_commit_elsewhere_is_seen_by_the_next_request(api, ada):
    def elsewhere(change):
        def run():
            try:
                change()
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    elsewhere(lambda: role_bindings.bind_role(ada, Role.EDITOR, Scope(), actor=ACTOR))
    assert me(api) == (["viewer", "editor"], [])
    elsewhere(lambda: Token.objects.update(revoked_at=Now()))
    assert api.get("me").status_code == 401
