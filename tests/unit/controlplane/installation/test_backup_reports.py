"""Reports of backups: which are refused, and when the next one is overdue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidRequest
from controlplane.installation.backup_reports import BackupReport, check_report, overdue_for

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("report", "pointer"),
    [
        (BackupReport(NOW + timedelta(minutes=6)), "/finished_at"),
        (BackupReport(next_within=timedelta(seconds=59)), "/next_within_seconds"),
        (BackupReport(next_within=timedelta(days=41)), "/next_within_seconds"),
        (BackupReport(location="postgresql://cp:hunter2@db/controlplane"), "/location"),
        (BackupReport(location="https://x.blob.example/b?sv=1&sig=abc"), "/location"),
    ],
)
def test_what_cannot_be_right_is_refused(report, pointer):
    with pytest.raises(InvalidRequest) as refused:
        check_report(report, NOW)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_clocks_may_differ_and_a_place_may_be_named():
    check_report(BackupReport(NOW + timedelta(minutes=4), location="s3://backups/2026-11-25.dump"), NOW)


@given(st.integers(0, 10**7), st.integers(60, 10**6))
def test_the_next_backup_is_overdue_once_its_time_has_passed(age, within):
    late = overdue_for(NOW - timedelta(seconds=age), timedelta(seconds=within), NOW)
    assert late == timedelta(seconds=max(0, age - within))
