"""Label selectors, such as `team=ml,tier!=dev,region in (eu,us),!old`. Pure.

The grammar is that of Kubernetes (apimachinery labels.Parse), which users already know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.errors import FieldError, InvalidRequest

_MAX_CHARACTERS = 2000
_MAX_TERMS = 20
_NAME = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_VALUE = r"[-A-Za-z0-9_.]*"
_TERM = re.compile(
    rf"(?P<absent>!)\s*(?P<missing>{_NAME})"
    rf"|(?P<name>{_NAME})\s*(?:(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})"
    rf"|\s(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?"
)


class Operator(StrEnum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a selector. As in Kubernetes, NOT_IN also matches objects without the label."""

    name: str
    operator: Operator
    values: tuple[str, ...] = ()

    def is_met_by(self, labels: dict[str, str]) -> bool:
        match self.operator:
            case Operator.EXISTS:
                return self.name in labels
            case Operator.ABSENT:
                return self.name not in labels
            case Operator.IN:
                return labels.get(self.name) in self.values
            case Operator.NOT_IN:
                return labels.get(self.name) not in self.values


def parse(text: str) -> list[Requirement]:
    """Parse a selector. Raises InvalidRequest, which names the invalid term."""
    if len(text) > _MAX_CHARACTERS:
        raise _malformed(f"A selector must not be longer than {_MAX_CHARACTERS} characters.")
    requirements = [_requirement(term.strip()) for term in _terms(text)]
    if len(requirements) > _MAX_TERMS:
        raise _malformed(f"A selector must not have more than {_MAX_TERMS} terms.")
    return requirements


def _terms(text: str) -> Iterator[str]:
    """Split at commas outside parentheses."""
    return (term for term in re.split(r",(?![^(]*\))", text) if term.strip())


def _requirement(term: str) -> Requirement:
    match = _TERM.fullmatch(term)
    if match is None:
        raise _malformed(
            f"{term!r} is not a valid selector. Use name=value, name!=value, name in (a,b), name or !name."
        )
    if match["absent"]:
        return Requirement(match["missing"], Operator.ABSENT)
    if match["word"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return Requirement(match["name"], Operator(match["word"]), values)
    if match["sign"]:
        operator = Operator.NOT_IN if match["sign"] == "!=" else Operator.IN
        return Requirement(match["name"], operator, (match["value"],))
    return Requirement(match["name"], Operator.EXISTS)


def _malformed(message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError("?selector", "malformed", message)])
