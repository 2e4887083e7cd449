"""Names of plugins and of their folders."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_store.errors import InvalidName
from plugin_store.names import check_folder, check_plugin_name, check_sha256, folder_of, version_in_path

SHA256 = "0123456789ab" + "c" * 52


@pytest.mark.parametrize("name", ["a", "0", "bq2bq", "a.b", "a-b_c.d", "a" * 63, "a-_b"])
def test_names_that_are_accepted(name: str) -> None:
    assert check_plugin_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "a.",
        "a-",
        ".a",
        "-a",
        "a..b",
        "a/b",
        "..",
        "a" * 64,
        "a\n",
        "ä",
        "a b",
        "a_",
        "<plugin-name>",
    ],
)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidName, match="Begin and end it"):
        check_plugin_name(name)


@pytest.mark.parametrize(
    ("version", "folder"),
    [
        ("1.2.0", "bq/1.2.0-0123456789ab"),
        ("1.0+local/x", "bq/1.0-local-x-0123456789ab"),
        ("../../etc", "bq/etc-0123456789ab"),
        ("...", "bq/0-0123456789ab"),
        (None, "bq/0-0123456789ab-0123456789ab"),
        ("v" * 200, f"bq/{'v' * 64}-0123456789ab"),
    ],
)
def test_the_folder_of_a_version(version: str | None, folder: str) -> None:
    assert folder_of("bq", version, SHA256) == folder
    assert check_folder(folder) == folder


@given(st.text())
def test_every_version_is_one_harmless_part_of_a_path(version: str) -> None:
    part = version_in_path(version)

    assert re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", part)
    assert ".." not in part
    for repair in (0, 1, 999):
        folder = folder_of("bq", version, SHA256, repair=repair)
        assert check_folder(folder) == folder


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "bq",
        "bq/x",
        "../x-0123456789ab",
        "bq/../x-0123456789ab",
        "/bq/1-0123456789ab",
        "bq/1-0123456789ab/x",
    ],
)
def test_a_folder_that_the_store_does_not_write_is_refused(folder: str) -> None:
    with pytest.raises(InvalidName):
        check_folder(folder)


@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n"])
def test_a_digest_has_one_spelling(digest: str) -> None:
    with pytest.raises(InvalidName):
        check_sha256(digest)
