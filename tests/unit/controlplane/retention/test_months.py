"""Which partitions to make, archive and drop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.retention.months import (
    EVER,
    Partition,
    is_abandoned,
    months_ahead,
    months_to_adopt,
    months_to_make,
    parse_partition,
    start_of_month,
    to_archive,
    to_drop,
    turning_boundary,
)

NOW = datetime(2026, 11, 23, 11, tzinfo=UTC)


def month(number: int, year: int = 2026) -> Partition:
    start = datetime(year, number, 1, tzinfo=UTC)
    return Partition(f"log_{year}_{number:02}", start, start_of_month(start, 1))


LEGACY = Partition("log_legacy", EVER, datetime(2026, 10, 1, tzinfo=UTC))


def test_bounds_are_read_as_postgres_shows_them():
    text = "FOR VALUES FROM ('2026-10-01 00:00:00+00') TO ('2026-11-01 00:00:00+00')"

    assert parse_partition("log_2026_10", text) == month(10)
    assert parse_partition("log_legacy", "FOR VALUES FROM (MINVALUE) TO ('2026-10-01 00:00:00+00')") == LEGACY
    assert parse_partition("log_default", "DEFAULT") is None


def test_this_month_and_three_more_are_made_across_the_turn_of_the_year():
    assert months_to_make([], NOW) == [start_of_month(NOW, n) for n in range(4)]
    assert months_to_make([month(11), month(1, 2027)], NOW) == [
        datetime(2026, 12, 1, tzinfo=UTC),
        datetime(2027, 2, 1, tzinfo=UTC),
    ]
    assert [months_ahead(parts, NOW) for parts in ([], [month(11)], [month(11), month(12)])] == [-1, 0, 1]


def test_rows_astray_get_their_months_unless_another_partition_is_between():
    first, last = datetime(2026, 10, 4, tzinfo=UTC), datetime(2026, 11, 9, tzinfo=UTC)

    assert months_to_adopt([LEGACY], first, last) == (LEGACY.upper, datetime(2026, 12, 1, tzinfo=UTC))
    assert months_to_adopt([LEGACY, month(11)], first, last) is None


def test_a_month_is_archived_two_days_after_its_end_and_once():
    parts = [month(11), month(10), LEGACY]
    end_of_october = datetime(2026, 11, 1, tzinfo=UTC)

    assert to_archive(parts, set(), NOW) == [LEGACY, month(10)]
    assert to_archive(parts, {"log_legacy"}, end_of_october + timedelta(days=1)) == []
    assert to_archive(parts, {"log_legacy"}, end_of_october + timedelta(days=2)) == [month(10)]


def test_a_month_is_dropped_when_its_youngest_row_is_too_old_and_it_is_archived():
    kept = timedelta(days=90)
    end = datetime(2026, 9, 1, tzinfo=UTC)

    assert to_drop([month(8)], {"log_2026_08"}, end + kept, kept) == [month(8)]
    assert to_drop([month(8)], {"log_2026_08"}, end + kept - timedelta(seconds=1), kept) == []
    assert to_drop([month(8)], set(), end + kept, kept) == []


@pytest.mark.parametrize(
    ("now", "boundary"),
    [
        (datetime(2026, 11, 24, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)),
        (datetime(2026, 11, 24, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_operator_has_a_week_to_finish_a_turn(now, boundary):
    assert turning_boundary(now) == boundary
    assert not is_abandoned(boundary, now)
    assert is_abandoned(boundary, boundary - timedelta(days=2))
