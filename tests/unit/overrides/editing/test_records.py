"""Rows of changed overrides: JSON that is put together from texts, against JSON of whole documents."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from controlplane.scopes import Scope
from overrides.editing.draft import Draft
from overrides.editing.records import mutation
from overrides.loading.current import CurrentOverride
from overrides.resolution.addresses import Address
from overrides.resolution.merging import canonical

ODD = Scope("dev", "p", 'w "1" \\ / é&= +', "lp#%?")


def draft_of(before: Any, after: Any, scope: Scope = ODD) -> Draft:
    return Draft(CurrentOverride(Address("t", scope), before, {}, 6), after, {})


@pytest.mark.parametrize(
    ("before", "after"), [(None, {"a": "x"}), ({"a": 'quo"te'}, {"b": [None, 1.5]}), ({"a": 2**70}, None)]
)
def test_the_texts_are_the_json_of_the_whole_snapshots(before, after):
    change = mutation(draft_of(before, after), 9)

    head = {"resource_type": "t", "scope": ODD.segments}
    snapshots = [
        None if attributes is None else {**head, "attributes": attributes, "version": version}
        for attributes, version in ((before, 6), (after, 7))
    ]
    assert [text and json.loads(text) for text in (change.before, change.after)] == snapshots
    assert json.loads(change.data) == {
        **head,
        "version": 7,
        "revision": 9,
        "before": before,
        "after": after,
        "truncated": False,
        "version_url": f"/api/v1/overrides/t/versions/7?{urlencode(ODD.segments)}",
    }


@pytest.mark.parametrize("character", ["a", "é", "😀"])
def test_an_event_leaves_out_attributes_above_eight_kibibytes_of_utf_8(character):
    overhead = len(canonical([None, {"a": ""}]).encode())
    largest = (8 * 1024 - overhead) // len(character.encode())

    fits = mutation(draft_of(None, {"a": character * largest}), 1)
    too_large = mutation(draft_of(None, {"a": character * (largest + 1)}), 1)

    assert json.loads(fits.data)["truncated"] is False
    assert {name: json.loads(too_large.data)[name] for name in ("before", "after", "truncated")} == {
        "before": None,
        "after": None,
        "truncated": True,
    }


def test_the_global_scope_has_no_query():
    assert json.loads(mutation(draft_of(None, {}, Scope()), 1).data)["version_url"].endswith("/versions/7")
