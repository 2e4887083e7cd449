"""Label selectors, such as `team=ml,tier!=dev,region in (eu,us),!old`. Pure.

The grammar is Kubernetes' (apimachinery labels.Parse), where it is known to everybody who would use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.errors import FieldError, InvalidRequest

_LONGEST = 2000
_MOST = 20
_NAME = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_VALUE = r"[-A-Za-z0-9_.]*"
_TERM = re.compile(
    rf"(?P<absent>!)\s*(?P<missing>{_NAME})"
    rf"|(?P<name>{_NAME})\s*(?:(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})"
    rf"|\s(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?"
)


class Wish(StrEnum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Requirement:
    """NOT_IN is also met by what has no such label, as in Kubernetes."""

    name: str
    wish: Wish
    values: tuple[str, ...] = ()

    def met_by(self, labels: dict[str, str]) -> bool:
        match self.wish:
            case Wish.EXISTS:
                return self.name in labels
            case Wish.ABSENT:
                return self.name not in labels
            case Wish.IN:
                return labels.get(self.name) in self.values
            case Wish.NOT_IN:
                return labels.get(self.name) not in self.values


def parse(text: str) -> list[Requirement]:
    """Raises InvalidRequest, pointing at what cannot be read."""
    if len(text) > _LONGEST:
        raise _wrong(f"A selector has {_LONGEST} characters at most.")
    found = [_requirement(term.strip()) for term in _terms(text)]
    if len(found) > _MOST:
        raise _wrong(f"A selector has {_MOST} terms at most.")
    return found


def _terms(text: str) -> Iterator[str]:
    """Split at commas, but not inside of parentheses."""
    return (term for term in re.split(r",(?![^(]*\))", text) if term.strip())


def _requirement(term: str) -> Requirement:
    match = _TERM.fullmatch(term)
    if match is None:
        raise _wrong(f"{term!r} cannot be read. Write name=value, name!=value, name in (a,b), name or !name.")
    if match["absent"]:
        return Requirement(match["missing"], Wish.ABSENT)
    if match["word"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return Requirement(match["name"], Wish(match["word"]), values)
    if match["sign"]:
        wish = Wish.NOT_IN if match["sign"] == "!=" else Wish.IN
        return Requirement(match["name"], wish, (match["value"],))
    return Requirement(match["name"], Wish.EXISTS)


def _wrong(message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError("?selector", "malformed", message)])
