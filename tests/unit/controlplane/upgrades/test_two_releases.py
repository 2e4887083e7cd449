"""What one release writes, another one reads: cursors, keys, sessions, messages, tasks."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.core import signing

from controlplane.access.login.login_details import SESSION_KEY, LoginDetails
from controlplane.api.idempotency import Claim, _digest, _lock_number
from controlplane.api.pages import _SALT, PageRequest, read_cursor
from controlplane.celery import app
from controlplane.errors import InvalidCursor
from controlplane.identity.grants import Grant, decide, missing_rights
from controlplane.identity.roles import Action
from controlplane.messaging.envelope import decode
from controlplane.scopes import Scope
from registry.joining.issuer_rules import IssuerRule

ORDER = ("created_at", "id")
LIST = PageRequest("/api/v1/agents", {}, None)
CURSOR = {"key": ["2026-01-01", "7"], "question": LIST.digest()}


def with_cursor(content: object) -> PageRequest:
    return replace(LIST, cursor=signing.dumps(content, salt=_SALT))


@pytest.mark.parametrize(
    "content",
    [CURSOR, {**CURSOR, "order": [*ORDER]}, {**CURSOR, "order": [*ORDER], "version": 9}],
    ids=["previous", "this", "next"],
)
def test_cursors_of_three_releases_are_read(content):
    assert read_cursor(with_cursor(content), ORDER) == ["2026-01-01", "7"]


@pytest.mark.parametrize(
    "content",
    [
        {**CURSOR, "order": ["name", "id"]},
        {"key": ["1", "2"]},
        {"question": LIST.digest()},
        {**CURSOR, "key": 7},
        ["1", "2"],
        "1",
        None,
    ],
)
def test_a_cursor_of_another_form_or_order_is_refused(content):
    with pytest.raises(InvalidCursor):
        read_cursor(with_cursor(content), ORDER)


def test_a_request_is_recognised_by_every_release():
    """A retry may reach a process of another release, which must take the same lock and compare the same."""
    claim = Claim(UUID(int=1), "POST /api/v1/agents", "a key", b"")

    assert _lock_number(claim) == 3752776251589775534
    assert _digest(["/api/v1/agents?dry_run=1", {"b": [1, None], "a": "ä"}]).hex() == (
        "eac5fde81912aeedbeee278d6e01c3c874901567d196c59e6300ec472a8ae863"
    )


def test_sessions_of_other_releases_keep_their_login():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    details = LoginDetails(at, at, "okta", UUID(int=3), "sid", "acr", ("pwd",))
    stored = json.loads(json.dumps(details.content()))

    assert LoginDetails.from_session({SESSION_KEY: {**stored, "added": [1]}}) == details
    first = {name: stored[name] for name in ("started_at", "auth_time")}
    assert LoginDetails.from_session({SESSION_KEY: first}) == LoginDetails(at, at)


def test_a_role_of_a_later_release_allows_nothing_and_hinders_no_other():
    later, viewer = Grant("auditor-of-next-year"), Grant("viewer")

    assert later.actions == frozenset()
    assert not decide([later], Action.AGENT_WRITE, Scope()).allowed
    assert decide([later, viewer], Action.AGENT_READ, Scope()).allowed
    assert missing_rights([later], [viewer]) == []


def test_an_issuer_rule_that_demands_more_than_is_known_admits_nobody():
    row = {"issuer": "https://issuer.test", "match": {"sub": "a"}}

    assert IssuerRule.of_row(row) == IssuerRule("https://issuer.test", {"sub": "a"})
    assert IssuerRule.of_row({**row, "network": "10.0.0.0/8"}) is None


def test_messages_may_have_more_members():
    event = {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data": {"epoch": 1, "added": {}}}

    assert decode(json.dumps({**event, "added": [1]}).encode()).data == event["data"]


def test_a_task_can_be_called_by_a_release_that_knows_no_argument_of_it():
    app.loader.import_default_modules()
    ours = {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}
    demanding = [
        name
        for name, task in ours.items()
        for parameter in inspect.signature(task.run).parameters.values()
        if parameter.default is parameter.empty
    ]
    sent = {entry["task"] for entry in app.conf.beat_schedule.values()}

    assert demanding == []
    assert sent <= set(ours)
    assert len(ours) > 10
