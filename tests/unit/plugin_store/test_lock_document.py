"""The lock is read strictly, written canonically, and compared with what is expected."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_store.errors import InvalidDocument, InvalidName, LockDrift
from plugin_store.lock_document import (
    Difference,
    ExpectedPlugin,
    LockDocument,
    LockedPlugin,
    LockedSignature,
    differences,
    merged_plugins,
    read_lock,
    require_no_drift,
    without_credentials,
    write_lock,
)

PLUGIN = LockedPlugin(
    name="bq2bq",
    version="1.2",
    provider="local",
    url="https://plugins.example/bq2bq.tar.gz",
    size=10,
    sha256="1" * 64,
    tree="2" * 64,
    platform="any",
    signature=LockedSignature("ed25519", "release"),
    fetched_at="2026-11-23T12:00:00+00:00",
    config_hash="3" * 64,
)
OTHER = replace(PLUGIN, name="transporter", version=None, signature=None)
LOCK = LockDocument("controlplane 0.1.0", "4" * 64, (OTHER, PLUGIN))
EXPECTED = ExpectedPlugin("bq2bq", "local", "3" * 64, "1.2", PLUGIN.url, "1" * 64)
EXPECTED_OTHER = ExpectedPlugin("transporter", "local", "3" * 64)


def test_a_lock_survives_writing_and_reading_sorted_by_name() -> None:
    text = write_lock(LOCK)

    assert read_lock(text) == replace(LOCK, plugins=(PLUGIN, OTHER))
    assert write_lock(read_lock(text)) == text
    assert b"fetchedAt" in text
    assert text.endswith(b"}\n")


def changed(**changes: Any) -> bytes:
    content = json.loads(write_lock(LOCK))
    content["plugins"][0] |= changes
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{", "no valid JSON"),
        (b"[]", "is not an object"),
        (b"[" * 100_000, "no valid JSON"),
        (b'{"lockVersion": NaN}', "no valid JSON"),
        (b'{"lockVersion": 1, "lockVersion": 1}', "twice"),
        (b'{"lockVersion": 2}', "reads version 1 only"),
        (b'{"lockVersion": true}', "whole number"),
        (b'{"lockVersion": 1}', "/plugins is missing"),
        (changed(extra=1), "/plugins/0/extra is unknown"),
        (changed(size="10"), "/plugins/0/size is not of type int"),
        (changed(size=-1), "/plugins/0/size"),
        (changed(sha256="A" * 64), "/plugins/0/sha256 is invalid"),
        (changed(name="Bad"), "/plugins/0/name is invalid"),
        (changed(name="transporter"), "names a plugin twice"),
        (changed(url="https://me:secret@host/x"), "/plugins/0/url is invalid"),
        (changed(signature={"method": "ed25519"}), "/plugins/0/signature/key is missing"),
    ],
)
def test_a_bad_lock_is_refused_with_its_place(text: bytes, problem: str) -> None:
    with pytest.raises(InvalidDocument, match=problem) as refusal:
        read_lock(text)

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("url", ["https://me@host/x", "https://host/x?token=1", "https://host/x#t"])
def test_a_url_with_credentials_is_never_written(url: str) -> None:
    with pytest.raises(InvalidName):
        write_lock(replace(LOCK, plugins=(replace(PLUGIN, url=url),)))

    write_lock(replace(LOCK, plugins=(replace(PLUGIN, url=without_credentials(url)),)))


def test_a_lock_that_agrees_has_no_differences() -> None:
    assert differences(LOCK, [EXPECTED, EXPECTED_OTHER]) == ()
    require_no_drift(LOCK, [EXPECTED, EXPECTED_OTHER])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("provider", "s3"),
        ("config_hash", "9" * 64),
        ("version", "1.3"),
        ("url", "https://x/y"),
        ("sha256", "8" * 64),
    ],
)
def test_every_difference_is_drift(field: str, value: str) -> None:
    wanted = [replace(EXPECTED, **{field: value}), EXPECTED_OTHER]

    assert differences(LOCK, wanted) == (Difference("bq2bq", field, getattr(PLUGIN, field), value),)
    with pytest.raises(LockDrift, match=f"bq2bq: {field} is"):
        require_no_drift(LOCK, wanted)


def test_missing_and_additional_plugins_are_drift() -> None:
    wanted = [EXPECTED, ExpectedPlugin("new", "local", "3" * 64)]

    assert [str(item) for item in differences(LOCK, wanted)] == [
        "new is missing in the lock",
        "transporter is in the lock only",
    ]


@pytest.mark.parametrize(
    ("upgrade", "versions"),
    [(frozenset(), ["1.2", None]), (frozenset({"bq2bq"}), ["2", None]), (None, ["2", "2"])],
)
def test_a_new_lock_upgrades_what_it_is_asked_to(
    upgrade: frozenset[str] | None, versions: list[str | None]
) -> None:
    resolved = [replace(PLUGIN, version="2"), replace(OTHER, version="2")]

    merged = merged_plugins([PLUGIN, OTHER], resolved, upgrade=upgrade)

    assert [plugin.version for plugin in merged] == versions


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_a_lock_or_refused(value: Any) -> None:
    with pytest.raises(InvalidDocument):
        read_lock(json.dumps(value).encode())
