"""The manifest: pure decisions about generations, and strict reading."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_store.errors import InvalidDocument, UnknownGeneration
from plugin_store.manifest import InstalledPlugin, Manifest, StoredFolder, read_manifest, write_manifest
from plugin_store.names import folder_of

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("switch"), st.integers(0, 5), st.integers(0, 3)),
        st.tuples(st.just("roll back"), st.integers(0, 8), st.just(0)),
        st.tuples(st.just("announce"), st.integers(0, 5), st.just(0)),
    ),
    max_size=12,
)


def plugin(version: int) -> InstalledPlugin:
    sha256 = f"{version:064x}"
    return InstalledPlugin(
        "bq", str(version), "local", folder_of("bq", str(version), sha256), 1, sha256, "a" * 64, "", "", "now"
    )


@given(ACTIONS)
def test_every_folder_is_named_whatever_happens(actions: list[tuple[str, int, int]]) -> None:
    manifest, written = Manifest(), set[str]()
    for action, number, keep in actions:
        item = plugin(number)
        before = manifest
        if action == "announce":
            manifest = manifest.announce([StoredFolder(item.folder, item.tree)])
            written.add(item.folder)
            assert manifest.current == before.current
        elif action == "switch":
            manifest = manifest.switch([item], created_at="now", keep=keep)
            written.add(item.folder)
            assert manifest.current.plugins == (item,)
            assert len(manifest.generations) <= keep + 1
            assert not keep or not before.active or before.current in manifest.generations
        elif manifest.generation(number):
            manifest = manifest.roll_back(number)
            assert manifest.active == number

        named = [item.folder for item in manifest.unused] + list(manifest.folders())
        assert sorted(named) == sorted(written)
        assert read_manifest(write_manifest(manifest)) == manifest


def test_there_is_nothing_to_roll_back_to_at_first() -> None:
    with pytest.raises(UnknownGeneration, match="no older generation"):
        Manifest().roll_back()
    with pytest.raises(UnknownGeneration):
        Manifest().switch([plugin(1)], created_at="now", keep=1).roll_back()


def test_after_a_rollback_the_generation_that_was_active_is_kept() -> None:
    manifest = Manifest()
    for version in (1, 2, 3):
        manifest = manifest.switch([plugin(version)], created_at="now", keep=5)

    manifest = manifest.roll_back(1).switch([plugin(4)], created_at="now", keep=1)

    assert [generation.number for generation in manifest.generations] == [1, 4]


def changed(**changes: Any) -> bytes:
    manifest = Manifest().switch([plugin(1)], created_at="now", keep=1)
    content = json.loads(write_manifest(manifest))
    content["generations"][0]["plugins"][0] |= changes
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "no valid JSON"),
        (changed(folder="../../etc"), "folder is invalid"),
        (changed(folder="other/1-000000000001"), "folder of another plugin"),
        (changed(state="odd"), "state is 'odd'"),
        (changed(tree="x"), "tree is invalid"),
        (changed().replace(b'"active": 1', b'"active": 7'), "names a generation that is not there"),
        (
            changed().replace(b'"unused": []', b'"unused": [{"folder": "bq/x", "tree": ""}]'),
            "folder is invalid",
        ),
    ],
)
def test_a_bad_manifest_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(InvalidDocument, match=problem):
        read_manifest(text)
