"""The record of the demo in a data folder, and the times of its story."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.demo.chapters.configuration import next_friday
from controlplane.local.demo_record import DemoRecord, read_record, with_chapter, write_record


def test_a_folder_without_a_demo_an_earlier_one_and_one_of_ours(tmp_path):
    assert read_record(tmp_path) is None
    (tmp_path / "demo.loaded").touch()
    # An earlier version made it. It may have real data since, so the demo adds nothing.
    assert read_record(tmp_path) == DemoRecord(tells=False)

    write_record(tmp_path, with_chapter(DemoRecord(tells=True, receiver_port=8044), "access"))
    assert read_record(tmp_path) == DemoRecord(tells=True, receiver_port=8044, chapters=["access"])


@pytest.mark.parametrize("day", range(7))
def test_friday_is_always_ahead(day):
    now = datetime(2026, 11, 23, 20, tzinfo=UTC) + timedelta(days=day)

    friday = next_friday(now)

    assert friday.weekday() == 4
    assert timedelta(hours=20) < friday - now < timedelta(days=8)
