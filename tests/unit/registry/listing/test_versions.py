"""Versions in use: their order, and how far each is behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.listing.versions import VersionCount, rank, version_key


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.9.0", "1.10.0"),
        ("1.10.0-rc1", "1.10.0"),
        ("v1.2", "v1.2.1"),
        ("2.0.0", "2.0.0+build7"),
        ("nightly", "0.1"),
        ("", "0"),
        ("1.4.2-alpha", "1.4.2-beta"),
    ],
)
def test_newer_versions_come_later(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


@given(st.text(max_size=30))
def test_every_text_has_a_place(text: str) -> None:
    assert version_key(text) == version_key(text)
    assert version_key(text) < version_key("999999999999999999999999999999999")


def test_each_component_has_an_order_of_its_own() -> None:
    ranked = rank(
        [
            VersionCount("sdk", "0.9", 5, 5),
            VersionCount("agent", "1.9.0", 1, 0),
            VersionCount("agent", "1.10.0", 3, 3),
        ]
    )

    assert [(row.count.component, row.count.version, row.behind, row.share) for row in ranked] == [
        ("agent", "1.10.0", 0, 0.75),
        ("agent", "1.9.0", 1, 0.25),
        ("sdk", "0.9", 0, 1.0),
    ]
    assert ranked[0].percent == "75"
