"""Tokens that were created with tokens: never longer, never more, and revoked together."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from controlplane.access import issue_tokens, principals
from controlplane.access.authentication import caller_for
from controlplane.access.issue_tokens import Issuer
from controlplane.access.models import AuditRecord, Token
from controlplane.access.token_lifetimes import Creation, Policy, Unspecified, expiry_of
from controlplane.access.tokens import digest
from controlplane.errors import InvalidRequest, NotAuthenticated
from controlplane.identity.grants import Grant, decide, missing_rights
from controlplane.identity.roles import ALLOWED, Role
from controlplane.scopes import Scope
from registry.joining.models import JoinToken
from tests.support.api_client import ACTOR, AGENT, Api, make_principal
from tests.support.waiting import until

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
POLICY = Policy(default=timedelta(days=90), longest=timedelta(days=365))
moments = st.integers(-3000, 30_000).map(lambda days: NOW + timedelta(days=days, seconds=days % 7))
grants = st.builds(Grant, st.sampled_from(Role), st.sampled_from([Scope(), Scope(project="ads")]))
limits = st.none() | moments.filter(lambda at: at > NOW)


@given(st.none() | moments | st.just(Unspecified.EXPIRY), limits, st.booleans())
def test_no_token_outlives_its_issuer_or_the_longest_lifetime(requested, limit, may_be_endless):
    try:
        end = expiry_of(requested, Creation(NOW, limit, may_be_endless), POLICY)
    except InvalidRequest:
        assert requested is not Unspecified.EXPIRY
        return

    assert end is not None or (limit is None and may_be_endless)
    if end is not None:
        assert NOW < end <= NOW + POLICY.longest + timedelta(minutes=5)
        assert limit is None or end <= limit


def in_(**time_left):
    return (datetime.now(UTC) + timedelta(**time_left)).isoformat()


def token_of(principal, **time_left):
    expires_at = datetime.now(UTC) + timedelta(**time_left) if time_left else None
    return principals.create_token(principal, name="t", expires_at=expires_at, actor=ACTOR)[1]


@pytest.fixture
def admin(db):
    return make_principal("admin", name="root")


def test_a_token_with_six_seconds_to_live_makes_none_that_lives_longer(admin):
    short = Api(token_of(admin, seconds=6))
    make_principal("admin", name="other")

    later = in_(seconds=60)
    requested = [{"expires_at": None}, {"expires_at": later}, {"principal": "other", "expires_at": later}]
    refused = [short.post("tokens", {"name": "x", **body}) for body in requested]
    made = short.post("tokens", {"name": "x"})

    assert {response.status_code for response in refused} == {400}
    assert {response.json()["errors"][0]["code"] for response in refused} == {"outlives_its_issuer"}
    assert "cannot be valid longer" in refused[0].json()["detail"]
    assert made.status_code == 201
    assert Token.objects.get(id=made.json()["id"]).expires_at <= datetime.now(UTC) + timedelta(seconds=6)
    assert made.json()["created_with"] == str(Token.objects.get(digest=digest_of(short)).id)
    assert Token.objects.count() == 2


def digest_of(api):
    return digest(api.token)


@pytest.mark.parametrize(
    ("expires_at", "status", "code"),
    [
        ("2020-01-01T00:00:00Z", 400, "in_the_past"),
        ("0001-01-01T00:00:00Z", 400, "in_the_past"),
        ("9999-12-31T23:59:59Z", 400, "too_late"),
        ("soon", 400, "invalid"),
        ("2026-02-30T00:00:00Z", 400, "invalid"),
        (12, 400, None),
    ],
)
def test_a_past_or_absurd_expiry_is_refused_with_its_reason(api, expires_at, status, code):
    answer = api.post("tokens", {"name": "x", "expires_at": expires_at})

    assert answer.status_code == status
    assert answer.json()["errors"][0]["pointer"] == "/expires_at"
    assert code is None or answer.json()["errors"][0]["code"] == code
    assert Token.objects.count() == 1


def test_a_dry_run_is_told_the_same(api):
    good = api.post("tokens?dry_run=true", {"name": "x", "expires_at": in_(days=30)})

    assert (good.status_code, good["Dry-Run"]) == (201, "true")
    assert Token.objects.count() == 1


def test_the_longest_lifetime_is_a_setting_and_an_omitted_expiry_keeps_to_it(api, settings):
    settings.TOKEN_MAX_DAYS = 30

    refused = api.post("tokens", {"name": "x", "expires_at": in_(days=31)})
    made = api.post("tokens", {"name": "x"}).json()

    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "too_late")
    assert "at most 30 days" in refused.json()["detail"]
    lifetime = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < lifetime <= timedelta(days=30)
    assert api.post("tokens", {"name": "x", "expires_at": in_(days=30)}).status_code == 201


def test_an_omitted_expiry_is_ninety_days(api):
    made = api.post("tokens", {"name": "x"}).json()

    assert timedelta(89) < datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC) <= timedelta(90)


def test_only_an_administrator_creates_tokens_that_never_expire(api, admin):
    viewer = Api(token_of(make_principal("viewer")))

    endless = api.post("tokens", {"name": "x", "expires_at": None})
    refused = viewer.post("tokens", {"name": "x", "expires_at": None})

    assert (endless.status_code, endless.json()["expires_at"]) == (201, None)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "endless")
    assert viewer.post("tokens", {"name": "x"}).status_code == 201


def test_revoking_a_token_revokes_all_that_came_of_it_at_any_depth(api, admin):
    first = api.post("tokens", {"name": "1", "principal": "root", "expires_at": None}).json()
    made = [first]
    for depth in range(2, 5):
        with_last = Api(made[-1]["token"])
        made.append(with_last.post("tokens", {"name": str(depth), "expires_at": None}).json())
    sibling = Api(first["token"]).post("tokens", {"name": "sibling"}).json()
    apart = api.post("tokens", {"name": "apart"}).json()

    assert api.delete(f"tokens/{first['id']}").status_code == 204

    assert {Api(made["token"]).get("me").status_code for made in (*made, sibling)} == {401}
    assert Api(apart["token"]).get("me").status_code == 200
    assert AuditRecord.objects.filter(action="token.revoked").count() == 5
    assert api.delete(f"tokens/{first['id']}").status_code == 204
    assert AuditRecord.objects.filter(action="token.revoked").count() == 5


def test_a_token_ends_itself_with_its_own_children(api, admin):
    first = api.post("tokens", {"name": "1"}).json()
    child = Api(first["token"]).post("tokens", {"name": "2"}).json()

    assert Api(first["token"]).delete(f"tokens/{first['id']}").status_code == 204

    assert Api(child["token"]).get("me").status_code == 401


def test_a_join_token_does_not_outlive_the_token_that_made_it(admin):
    short = Api(token_of(admin, minutes=10))
    body = {"name": "eu", "name_pattern": "*"}

    refused = short.post("join-tokens", {**body, "expires_in_seconds": 3600})
    made = short.post("join-tokens", {**body, "expires_in_seconds": 60})

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/expires_in_seconds")
    assert made.status_code == 201
    assert JoinToken.objects.count() == 1


def test_a_join_token_is_revoked_with_the_token_that_made_it(api):
    issuer = api.post("tokens", {"name": "operator"}).json()
    child = Api(issuer["token"]).post("tokens", {"name": "child"}).json()
    made = [
        Api(issuer["token"]).post("join-tokens", {"name": "eu", "name_pattern": "*"}).json()
        for issuer in (issuer, child)
    ]
    apart = api.post("join-tokens", {"name": "apart", "name_pattern": "*"}).json()

    api.delete(f"tokens/{issuer['id']}")

    assert {Api(token["token"]).post("agents:join", AGENT).status_code for token in made} == {401}
    assert AuditRecord.objects.filter(action="join_token.revoked").count() == 2
    assert Api(apart["token"]).post("agents:join", AGENT).status_code == 201


def test_an_agent_that_rotates_its_token_gains_no_time(api):
    invitation = api.post("join-tokens", {"name": "eu", "name_pattern": "*"}).json()["token"]
    joined = Api(invitation).post("agents:join", AGENT).json()
    issuer = api.post("tokens", {"name": "operator"}).json()
    own = Token.objects.get(digest=digest(joined["token"]))
    short = (
        Api(issuer["token"])
        .post("tokens", {"name": "short", "principal": own.principal.name, "expires_at": in_(minutes=5)})
        .json()
    )

    rotated = Api(short["token"]).post(f"agents/{joined['agent']['agent_id']}:rotate").json()["token"]

    new, former = Token.objects.get(digest=digest(rotated)), Token.objects.get(id=short["id"])
    assert (new.expires_at, new.parent_id) == (former.expires_at, former.parent_id)
    assert Api(short["token"]).get("me").status_code == 401
    assert Api(rotated).get("me").status_code == 200
    api.delete(f"tokens/{issuer['id']}")
    assert Api(rotated).get("me").status_code == 401


@given(st.lists(grants, max_size=3), st.lists(grants, max_size=3))
def test_rights_are_missing_exactly_if_something_is_allowed_to_one_alone(granted, caller_role):
    covered = all(
        decide(caller_role, action, scope).allowed
        for scope in (Scope(), Scope(project="ads"), Scope(project="ads", domain="d"))
        for action in set().union(*ALLOWED.values())
        if decide(granted, action, scope).allowed
    )

    assert (missing_rights(granted, caller_role) == []) is covered


def test_nobody_creates_a_token_with_rights_that_are_not_theirs(db):
    editor, admin = make_principal("editor"), make_principal("admin")

    with pytest.raises(Exception, match="permissions that you lack"):
        issue_tokens.issue_token(
            admin, "x", Unspecified.EXPIRY, issuer=Issuer(caller_for(editor)), actor=ACTOR
        )


def test_a_token_that_is_revoked_meanwhile_leaves_no_child(transactional_db):
    admin = make_principal("admin")
    parent, _ = principals.create_token(admin, name="p", expires_at=None, actor=ACTOR)
    issuer = Issuer(caller_for(admin), parent.id)
    outcome = []

    def create():
        try:
            issue_tokens.issue_token(admin, "child", None, issuer=issuer, actor=ACTOR)
        except NotAuthenticated as error:
            outcome.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=create)
    with transaction.atomic():
        issue_tokens.revoke_token(parent.id, of=None, actor=ACTOR)
        thread.start()
        _wait_for_a_lock()
    thread.join(60)

    assert len(outcome) == 1
    assert not Token.objects.filter(revoked_at=None).exists()


def test_a_child_that_is_being_created_is_revoked_with_its_grandparent(transactional_db):
    admin = make_principal("admin")
    grandparent, _ = principals.create_token(admin, name="g", expires_at=None, actor=ACTOR)
    parent, _ = issue_tokens.issue_token(
        admin, "p", None, issuer=Issuer(caller_for(admin), grandparent.id), actor=ACTOR
    )

    def revoke():
        issue_tokens.revoke_token(grandparent.id, of=None, actor=ACTOR)
        connection.close()

    thread = threading.Thread(target=revoke)
    with transaction.atomic():
        issue_tokens.issue_token(admin, "c", None, issuer=Issuer(caller_for(admin), parent.id), actor=ACTOR)
        thread.start()
        _wait_for_a_lock()
    thread.join(60)

    assert Token.objects.filter(revoked_at=None).count() == 0
    assert Token.objects.count() == 3


def _wait_for_a_lock():
    def is_waited_for() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return bool(cursor.fetchone()[0])

    until(is_waited_for, 60, lambda: "Nobody waits for a lock.")
