"""The audit page shows the state of the chain, as the last verification left it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models.functions import Now

from controlplane.access.audit_chain.chain_state import ChainCondition, condition_of
from controlplane.access.audit_chain.models import AuditCheck
from controlplane.access.audit_chain.seal import seal_past_days
from controlplane.access.audit_chain.verify import verify
from controlplane.identity.roles import Role
from controlplane.retention.months import EVER
from tests.api.console.test_fleet import text_of
from tests.integration.controlplane.retention.test_audit_chain import FIRST_DAY, as_superuser, write
from tests.support.api_client import logged_in

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.fixture
def records(db):
    """Two records of the first of the sealed days."""
    ids = [write("p0"), write("p1", FIRST_DAY + timedelta(minutes=1))]
    seal_past_days(FIRST_DAY + timedelta(days=1, hours=6))
    return ids


@pytest.fixture
def browser(db):
    return logged_in("jane", Role.ADMIN)


def test_a_log_that_was_never_verified_says_so_and_how(browser):
    page = text_of(browser.get("/audit"))

    assert 'class="state unverified"' in page
    assert 'data-copy="python manage.py audit_verify"' in page


def test_the_page_says_up_to_which_record_the_chain_is_verified(browser, records):
    verify(kept_from=EVER)

    page = text_of(browser.get("/audit"))

    assert 'class="state verified"' in page
    assert f"up to record {records[-1]} of 2026-03-02" in page
    assert "2 records of 1 day unchanged" in page
    assert "Sealed until 2026-03-02" in page


def test_a_break_is_named_to_those_who_read_all_records(browser, records):
    with as_superuser() as execute:
        execute("UPDATE access_auditrecord SET actor = 'nobody' WHERE id = %s", [records[0]])
    verify(kept_from=EVER)

    page = text_of(browser.get("/audit"))

    assert 'class="state broken"' in page
    assert f"2026-03-02, record {records[0]}: the record was changed" in page


def test_an_old_result_is_outdated_and_the_page_verifies_nothing(browser, records):
    verify(kept_from=EVER)
    AuditCheck.objects.update(at=Now() - timedelta(days=3))
    with as_superuser() as execute:
        execute("DELETE FROM access_auditrecord WHERE id = %s", [records[0]])

    page = text_of(browser.get("/audit"))

    assert 'class="state outdated"' in page
    assert "workers should verify it every day" in page
    assert AuditCheck.objects.count() == 1


@pytest.mark.parametrize(
    ("age", "breaks", "condition"),
    [
        (None, 0, ChainCondition.UNVERIFIED),
        (timedelta(hours=30), 0, ChainCondition.VERIFIED),
        (timedelta(days=3), 0, ChainCondition.OUTDATED),
        (timedelta(days=3), 1, ChainCondition.BROKEN),
    ],
)
def test_the_condition_is_of_the_last_verification(age, breaks, condition):
    assert condition_of(None if age is None else NOW - age, breaks, NOW) is condition
