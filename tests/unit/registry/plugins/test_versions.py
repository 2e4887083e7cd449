"""Versions and ranges of plugins and servers."""

from __future__ import annotations

import pytest

from controlplane import __version__
from registry.plugins.versions import InvalidRange, find_mismatch, find_server_mismatch, parse_range


@pytest.mark.parametrize(
    ("text", "version", "is_in"),
    [
        (">=1.2,<2", "1.2", True),
        (">=1.2,<2", "1.10.3", True),
        (">=1.2,<2", "2.0", False),
        (">= 1.2 , < 2", "1.3", True),
        (">=1.2,<2", "1.1.9", False),
        (">=1.2", "1.3rc1", True),
        ("<2", "2.0rc1", False),
        ("1.4.2", "1.4.2", True),
        ("1.4", "1.4.0", True),
        ("1.4.2", "1.4.3", False),
        ("v1.4", "1.4", True),
        ("~=1.4", "1.9", True),
        ("~=1.4", "2.0", False),
        ("!=1.4", "1.4", False),
        ("==1.*", "1.9", True),
        ("==snapshot-7", "snapshot-7", True),
        ("snapshot-7", "snapshot-8", False),
        (">=1", "snapshot-7", False),
        ("==snapshot-7", "1.0", False),
    ],
)
def test_ranges(text, version, is_in):
    assert parse_range(text).contains(version) is is_in
    assert bool(find_mismatch(parse_range(text), version)) is not is_in


@pytest.mark.parametrize(
    "text", ["", ",", ">=", "=>1", "=1.2", ">>1", "1 2", ">=1,", "===1", "^1.2", ">=1.2,,<2", "~=1", ">=1.*"]
)
def test_other_texts_are_no_ranges(text):
    with pytest.raises(InvalidRange):
        parse_range(text)


@pytest.mark.parametrize(
    "text", [">=snapshot", "<snapshot,>1", "!=snapshot", "==snapshot,==other", "~=snapshot"]
)
def test_versions_without_order_allow_only_equality(text):
    with pytest.raises(InvalidRange, match="only =="):
        parse_range(text)


def test_the_error_explains_a_version_without_order():
    assert "only ==snapshot-7 matches it" in find_mismatch(parse_range(">=1"), "snapshot-7")


@pytest.mark.parametrize("text", [">= 1.2 , < 2", "1.4", "snapshot", "~=1.4"])
def test_a_normalised_range_is_itself(text):
    assert parse_range(parse_range(text).text) == parse_range(text)


@pytest.mark.parametrize(
    ("requires_server", "fits"), [("", True), (">=0.1,<1", True), (">=99", False), (f"=={__version__}", True)]
)
def test_the_version_of_the_server(requires_server, fits):
    message = find_server_mismatch(requires_server, __version__)

    assert (message == "") is fits
    assert (
        fits
        or message
        == f"The plugin requires a server {requires_server}, and this one has version {__version__}."
    )
