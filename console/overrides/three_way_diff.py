"""Three documents side by side: what one began with, what stands now, what one wants. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.overrides.ladder import in_words, readable
from overrides.editing.plans import Difference
from overrides.resolution.leaves import ABSENT, leaves, name_of
from overrides.resolution.merging import Attributes, MergeRule, canonical


@dataclass(frozen=True, slots=True)
class Line:
    """One place in which two documents differ, in words; empty where there is nothing."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """One place in three documents. conflict: both sides changed it, and not alike."""

    name: str
    base: str
    theirs: str
    yours: str
    conflict: bool


def lines(differences: Any) -> list[Line]:
    return [_line(one) for one in differences]


def three_ways(
    base: Attributes | None, theirs: Attributes | None, yours: Attributes, rule: MergeRule
) -> list[ThreeWay]:
    """Every place in which the three are not all alike."""
    found = [{} if one is None else dict(leaves(one, rule)) for one in (base, theirs, yours)]
    paths = {path: None for one in found for path in one}
    rows = []
    for path in paths:
        said = [one.get(path, ABSENT) for one in found]
        texts = ["" if one is ABSENT else canonical(one) for one in said]
        if len(set(texts)) > 1:
            words = [_in_words(one) for one in said]
            conflict = texts[0] != texts[1] and texts[0] != texts[2] and texts[1] != texts[2]
            rows.append(ThreeWay(readable(name_of(path)), words[0], words[1], words[2], conflict))
    return rows


def _line(one: Difference) -> Line:
    return Line(readable(one.leaf), _in_words(one.before), _in_words(one.after))


def _in_words(value: Any) -> str:
    return "" if value is ABSENT else in_words(value)
