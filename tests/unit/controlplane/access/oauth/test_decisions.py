"""Pure decisions of the authorization server: refresh tokens, scopes and credentials."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.access.oauth.credentials import read_credentials
from controlplane.access.oauth.refresh import RefreshFacts, Ruling, ruling_of
from controlplane.access.oauth.scopes import KNOWN, granted, parse

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GRACE = timedelta(seconds=30)


def facts(*, generation=3, newest=3, replaced=None, expires_in=60, is_revoked=False):
    replaced_at = None if replaced is None else NOW - timedelta(seconds=replaced)
    expires_at = NOW + timedelta(seconds=expires_in)
    return RefreshFacts(NOW, expires_at, generation, newest, replaced_at, is_revoked, GRACE)


@pytest.mark.parametrize(
    ("token", "ruling"),
    [
        (facts(), Ruling.ROTATE),
        (facts(generation=2), Ruling.ROTATE),
        (facts(expires_in=0), Ruling.REFUSE),
        (facts(is_revoked=True), Ruling.REFUSE),
        (facts(generation=2, replaced=0), Ruling.ROTATE),
        (facts(generation=2, replaced=29), Ruling.ROTATE),
        (facts(generation=2, replaced=30), Ruling.REVOKE_FAMILY),
        (facts(generation=1, replaced=0), Ruling.REVOKE_FAMILY),
        (facts(generation=1, replaced=9999), Ruling.REVOKE_FAMILY),
        (facts(generation=1, replaced=9999, is_revoked=True), Ruling.REFUSE),
        (facts(generation=2, replaced=30, expires_in=-1), Ruling.REVOKE_FAMILY),
    ],
)
def test_what_a_refresh_token_gives(token, ruling):
    assert ruling_of(token) is ruling


names = st.lists(st.sampled_from([*KNOWN, "publish:ml", "publish:*", "nonsense"]))


@given(names, names, names)
def test_no_scope_is_granted_that_is_not_allowed(requested, allowed, default):
    scopes = granted(requested, allowed, default)

    assert set(scopes) <= set(requested or default)
    assert all(scope in allowed or scope.startswith("publish:") for scope in scopes)
    assert len(scopes) == len(set(scopes))
    assert "publish:*" not in scopes
    assert not scopes or set(scopes) - {"offline", "offline_access"}


def test_a_client_of_any_team_may_publish_for_one():
    assert granted(["publish:ml"], ["publish:*"]) == ("publish:ml",)
    assert granted(["publish:ml"], ["publish:web"]) == ()


def test_scopes_are_separated_by_spaces():
    assert parse(" all  offline all ") == ("all", "offline")
    assert parse(None) == ()


@given(st.text(max_size=40).filter(lambda text: ":" not in text), st.text(min_size=1, max_size=40))
def test_raw_and_escaped_credentials_are_among_those_that_are_tried(client_id, secret):
    from urllib.parse import quote_plus

    for left, right in ((client_id, secret), (quote_plus(client_id), quote_plus(secret))):
        encoded = base64.b64encode(f"{left}:{right}".encode()).decode()
        credentials = read_credentials(f"Basic {encoded}", {"client_id": "other"})

        assert client_id in credentials.client_ids
        assert secret in credentials.secrets
        assert credentials.is_basic
