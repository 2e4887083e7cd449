"""Messages with a number agree with it: `1 scope`, `2 scopes`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from controlplane.formats import counts
from cpctl import output
from tests.support.paths import ROOT

FOLDERS = ("console", "controlplane", "cpctl", "overrides", "plugin_store", "registry")
NOUNS = (
    "agents|approvals|archives|changes|checks|deliveries|documents|errors|events|fields|files|leases|members"
    "|overrides|plugins|projects|releases|requests|resources|revisions|rows|scopes|teams|tokens|units|versions"
)
AFTER_NUMBER = re.compile(rf" (?:more |other |existing |stored |published |waiting )?(?:{NOUNS})\b")
# A part of a number that is named, and limits, which are more than one.
BEFORE_NUMBER = re.compile(r"(of|of the|of the last|at most|at least|more than|up to|has 1 to) $")
# A name and a verb.
NO_NUMBER = "{self.team} releases "


def unguarded_counts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of f-strings, outside of conditions, in which a number precedes a plural noun."""
    tree = ast.parse(source)
    guarded = {id(part) for node in ast.walk(tree) if isinstance(node, ast.IfExp) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in guarded:
            parts = [str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values]
            for before, part, after in zip(["", *parts], node.values, [*parts[1:], ""], strict=False):
                if (
                    isinstance(part, ast.FormattedValue)
                    and AFTER_NUMBER.match(after)
                    and not BEFORE_NUMBER.search(before)
                    and not ast.unparse(part.value).isupper()
                ):
                    yield node.lineno, f"{{{ast.unparse(part.value)}}}{after}"


def test_no_message_has_a_number_before_a_plural_that_could_be_one():
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line, text in unguarded_counts(file.read_text())
        if text != NO_NUMBER
    ]

    assert wrong == [], "use counted() of controlplane.formats.counts, or in cpctl of cpctl.output"


@pytest.mark.parametrize("counted", [counts.counted, output.counted])
def test_both_functions_count_alike(counted):
    assert [counted(number, "scope") for number in (0, 1, 2)] == ["0 scopes", "1 scope", "2 scopes"]
    assert [counted(number, "field is", "fields are") for number in (1, 2)] == ["1 field is", "2 fields are"]
