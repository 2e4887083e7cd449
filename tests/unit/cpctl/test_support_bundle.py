"""Support bundles: nothing that is a secret, wherever somebody has put it."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpctl.contexts import Context, Login
from cpctl.support_bundle import REMOVED, archive, context_facts, secrets_of, without_secrets

PLANTED = "Pl4nted-S3cret"
PLACES: list[Any] = [
    {"token": PLANTED},
    {"nested": [{"client_secret": PLANTED}]},
    {"SMTP_PASSWORD": PLANTED},
    {"headers": {"Authorization": f"Bearer {PLANTED}"}},
    f"https://ada:{PLANTED}@example.com/path",
    f"postgresql://cp:{PLANTED}@db/controlplane?sslmode=require",
    f"redis://:{PLANTED}@valkey:6379/0",
    f"https://hooks.example.com/?api_key={PLANTED}&x=1",
    f"curl -H 'Authorization: Bearer {PLANTED}'",
    f"token cp_pat_{PLANTED.replace('-', '')}",
    f"eyJhbGciOi.{PLANTED}.c2ln",
    f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----",
    {f"https://ada:{PLANTED}@example.com": 1},
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_secrets_are_removed_where_people_put_them(place):
    cleaned = json.dumps(without_secrets(place))
    assert PLANTED not in cleaned
    assert PLANTED.replace("-", "") not in cleaned
    assert REMOVED in cleaned


def test_what_is_no_secret_stays():
    facts = {
        "name": "SMTP_PASSWORD",
        "is_set": True,
        "value": None,
        "runbook": "docs/operations.md#cpoutboxold",
    }
    assert without_secrets(facts) == facts
    assert without_secrets({"token_checks": 5, "tokens": ["web"], "server": "https://cp.example.com"}) == {
        "token_checks": 5,
        "tokens": ["web"],
        "server": "https://cp.example.com",
    }


texts = st.text(max_size=20)
documents = st.recursive(
    texts | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(documents, texts, texts)
def test_a_known_secret_is_nowhere(document, before, after):
    secret = "Kn0wn-S3cret!"
    holder = [document, f"{before}{secret}{after}", {f"{before}{secret}": document}]
    assert secret not in json.dumps(without_secrets(holder, [secret]), ensure_ascii=False)


def test_a_context_is_described_without_what_it_logs_in_with():
    login = Login("cpctl", "https://cp.example.com/token", refresh_token=PLANTED, expires_at=5)
    context = Context("work", "https://cp.example.com", token=f"{PLANTED}-2", login=login)
    assert PLANTED not in json.dumps(context_facts(context))
    assert context_facts(context)["logs_in_with"] == "oauth"
    environment = {"CPCTL_TOKEN": f"{PLANTED}-3", "HOME": "/home/ada", "SLACK_WEBHOOK_SECRET": f"{PLANTED}-4"}
    assert set(secrets_of(context, environment)) == {
        PLANTED,
        *(f"{PLANTED}-{number}" for number in (2, 3, 4)),
    }


def test_the_archive_has_each_document_in_one_folder():
    body = archive(
        {"meta.json": {"a": 1}, "client.json": None}, "cpctl-support-x", datetime(2026, 1, 1, tzinfo=UTC)
    )
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        assert tar.getnames() == ["cpctl-support-x/meta.json", "cpctl-support-x/client.json"]
        assert {entry.mode for entry in tar.getmembers()} == {0o600}
        file = tar.extractfile("cpctl-support-x/meta.json")
        assert file is not None
        assert json.load(file) == {"a": 1}
