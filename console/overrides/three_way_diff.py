"""Three-way comparison of documents: base, saved version and the user's version. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.overrides.value_text import format_value, readable
from overrides.editing.plans import Difference
from overrides.resolution.leaves import ABSENT, leaves, name_of
from overrides.resolution.merging import Attributes, MergeRule, canonical


@dataclass(frozen=True, slots=True)
class Line:
    """A location in which two documents differ, with both values as text; empty if absent."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """A location in three documents. conflict: both sides changed it to different values."""

    name: str
    base: str
    theirs: str
    yours: str
    conflict: bool


def lines(differences: Any) -> list[Line]:
    return [_line(difference) for difference in differences]


def compare_three(
    base: Attributes | None, theirs: Attributes | None, yours: Attributes, rule: MergeRule
) -> list[ThreeWay]:
    """Return the locations in which the documents are not all equal."""
    documents = [{} if side is None else dict(leaves(side, rule)) for side in (base, theirs, yours)]
    paths = {path: None for document in documents for path in document}
    rows = []
    for path in paths:
        values = [document.get(path, ABSENT) for document in documents]
        texts = ["" if value is ABSENT else canonical(value) for value in values]
        if len(set(texts)) > 1:
            words = [_format(value) for value in values]
            conflict = texts[0] != texts[1] and texts[0] != texts[2] and texts[1] != texts[2]
            rows.append(ThreeWay(readable(name_of(path)), words[0], words[1], words[2], conflict))
    return rows


def _line(difference: Difference) -> Line:
    return Line(readable(difference.leaf), _format(difference.before), _format(difference.after))


def _format(value: Any) -> str:
    return "" if value is ABSENT else format_value(value)
