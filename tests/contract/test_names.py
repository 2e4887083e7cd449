"""A name is the noun of what it holds: the share of names that say nothing, by package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pronouns and bare participles: what they hold can be learned only by reading on.
EMPTY = frozenset(
    {"one", "said", "told", "found", "wanted", "held", "asked", "known", "taken", "mine", "given"}
)
EMPTY |= {
    "kept",
    "seen",
    "thing",
    "things",
    "it",
    "that",
    "those",
    "others",
    "sent",
    "noted",
    "meant",
    "shown",
}
# Per cent of all names; well-kept projects of this size have 0.0 to 0.1.
MOST = 0.3


def names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name


@pytest.mark.parametrize(
    "package", ["controlplane", "overrides", "registry", "console", "cpctl", "plugin_store"]
)
def test_names_say_what_they_hold(package: str) -> None:
    every = [
        (path, name) for path in (ROOT / package).rglob("*.py") for name in names(ast.parse(path.read_text()))
    ]
    empty = [(str(path.relative_to(ROOT)), name) for path, name in every if name.strip("_") in EMPTY]
    share = 100 * len(empty) / len(every)
    print(f"{package}: {share:.2f} % of {len(every)} names are empty")

    assert share < MOST, sorted(set(empty))
