"""Label selectors, as Kubernetes reads them."""

from __future__ import annotations

import pytest

from controlplane.errors import InvalidRequest
from controlplane.formats.label_selectors import parse

LABELS = {"team": "ml", "region": "eu", "empty": "", "a.b/c": "1"}


@pytest.mark.parametrize(
    ("selector", "met"),
    [
        ("", True),
        ("team=ml", True),
        ("team==ml", True),
        ("team = ml , region=eu", True),
        ("team=ml,region=us", False),
        ("team!=dev", True),
        ("team!=ml", False),
        ("nothing!=x", True),
        ("region in (eu,us)", True),
        ("region in (us)", False),
        ("region notin (us, asia)", True),
        ("region notin (eu)", False),
        ("nothing notin (x)", True),
        ("team", True),
        ("nothing", False),
        ("!nothing", True),
        ("!team", False),
        ("empty=", True),
        ("team=", False),
        ("empty in ()", True),
        ("a.b/c=1", True),
        ("team=ml,region in (eu,us),!old", True),
    ],
)
def test_selectors(selector, met):
    assert all(one.is_met_by(LABELS) for one in parse(selector)) == met


@pytest.mark.parametrize(
    "selector",
    [
        "=x",
        "a=b=c",
        "a in",
        "a in (b",
        "a in b)",
        "a ~ b",
        "a,b)",
        "!",
        "a!",
        "a in (b,(c))",
        "x" * 2001,
        "a," * 21,
    ],
)
def test_what_is_no_selector(selector):
    with pytest.raises(InvalidRequest):
        parse(selector)
