"""The filter of the scope tree."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from console.overrides.tree import Node, matching
from controlplane.scopes import Scope


def node(label: str, *children: Node) -> Node:
    return Node(label, Scope(project=label), 0, 0, children)


def labels(nodes: list[Node]) -> Iterator[str]:
    for each in nodes:
        yield each.label
        yield from labels(list(each.children))


LABELS = st.text("abAB-", min_size=1, max_size=4)
NODES = st.recursive(
    st.builds(node, LABELS),
    lambda below: st.builds(
        lambda label, children: node(label, *children), LABELS, st.lists(below, max_size=3)
    ),
    max_leaves=12,
)


def test_what_leads_to_a_match_is_kept_and_open() -> None:
    (ads,) = matching([node("ads", node("production", node("Train"))), node("billing")], "TRAIN")

    assert list(labels([ads])) == ["ads", "production", "Train"]
    assert ads.is_open
    assert ads.children[0].is_open


def test_what_is_below_a_match_stays_as_it_was() -> None:
    (ads,) = matching([node("ads", node("production"))], "ads")

    assert list(labels([ads])) == ["ads", "production"]
    assert not ads.is_open


@given(st.lists(NODES, max_size=4), st.text("abAB-", max_size=3))
def test_each_matching_name_is_kept_and_each_top_has_one(nodes: list[Node], text: str) -> None:
    found = matching(nodes, text)

    wanted = [label for label in labels(nodes) if text.lower() in label.lower()]
    assert [label for label in labels(found) if text.lower() in label.lower()] == wanted
    assert all(any(text.lower() in label.lower() for label in labels([top])) for top in found)
    assert matching(found, text) == found
