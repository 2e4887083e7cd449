"""Expressions in filters of sinks: a small part of CloudEvents SQL. Pure.

    type LIKE '%.agent.unavailable.%' AND (data.environment IN ('prod', 'stage') OR NOT EXISTS cpteam)

Values are texts, integers, TRUE and FALSE. `LIKE` knows `%` (any text) and `_` (one character). A comparison
with an attribute that is absent is false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.errors import InvalidRequest
from controlplane.formats.json_schema import Validator, compile_schema

MAX_LENGTH = 1024
# Nested deeper than anybody writes, and far below what recursion can take.
_MAX_DEPTH = 20
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+)"
    r"|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign><>|!=|=|\(|\)|,))"
)
_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "EXISTS", "TRUE", "FALSE"})
_WILDCARDS = {"%": r"[\s\S]*", "_": r"[\s\S]"}
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}/]")
_ABSENT = object()

Attributes = Mapping[str, Any]
Test = Callable[[Attributes], bool]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. `matches` takes the attributes of a CloudEvent, with `data`."""

    text: str
    matches: Test


def parse_expression(text: str) -> Expression:
    """Return the expression. Raises InvalidRequest that names the position of the error."""
    if len(text.encode()) > MAX_LENGTH:
        raise _error(f"The expression has more than {MAX_LENGTH} bytes. Use `types` or `scopes` beside it.")
    parser = _Parser(_tokens(text))
    test = parser.either(0)
    parser.expect_end()
    return Expression(text, test)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            at = len(text) - len(rest) + 1
            raise _error(f"The expression cannot be read from character {at}: {rest[:10]!r}.")
        kind = str(match.lastgroup)
        value, at = match[kind], match.start(kind) + 1
        if kind == "name" and value.upper() in _KEYWORDS:
            kind, value = "keyword", value.upper()
        tokens.append(_Token(kind, value, at))
        position = match.end()
    return [*tokens, _Token("end", "the end", end + 1)]


class _Parser:
    """Recursive descent: OR binds weaker than AND, and AND weaker than NOT."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def either(self, depth: int) -> Test:
        tests = [self._both(depth)]
        while self._take("OR"):
            tests.append(self._both(depth))
        return tests[0] if len(tests) == 1 else lambda event: any(test(event) for test in tests)

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("AND, OR or the end")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _both(self, depth: int) -> Test:
        tests = [self._one(depth)]
        while self._take("AND"):
            tests.append(self._one(depth))
        return tests[0] if len(tests) == 1 else lambda event: all(test(event) for test in tests)

    def _one(self, depth: int) -> Test:
        if depth >= _MAX_DEPTH:
            raise _error(f"The expression is nested more than {_MAX_DEPTH} times. Write it flatter.")
        if self._take("NOT"):
            negated = self._one(depth + 1)
            return lambda event: not negated(event)
        if self._take("("):
            inner = self.either(depth + 1)
            self._expect(")")
            return inner
        if self._take("EXISTS"):
            name = self._attribute()
            return lambda event: _read(event, name) is not _ABSENT
        return self._comparison()

    def _comparison(self) -> Test:
        name = self._attribute()
        if self._take("="):
            wanted = self._value()
            return lambda event: _read(event, name) == wanted
        if self._take("!=", "<>"):
            unwanted = self._value()
            return lambda event: _read(event, name) not in (unwanted, _ABSENT)
        is_negated = self._take("NOT")
        if self._take("IN"):
            values = self._values()
            return lambda event: _is_in(_read(event, name), values, is_negated)
        if self._take("LIKE"):
            form = like_pattern(self._pattern())
            return lambda event: (
                isinstance(value := _read(event, name), str) and form.is_valid(value) is not is_negated
            )
        raise self._unexpected("=, !=, IN or LIKE")

    def _values(self) -> tuple[object, ...]:
        self._expect("(")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._expect(")")
        return tuple(values)

    def _value(self) -> object:
        token = self._token
        if token.kind == "text":
            self._next += 1
            return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        if token.kind == "number":
            self._next += 1
            return int(token.text)
        if self._take("TRUE", "FALSE"):
            return token.text == "TRUE"
        raise self._unexpected("a text in quotes, an integer, TRUE or FALSE")

    def _pattern(self) -> str:
        value = self._value()
        if not isinstance(value, str):
            raise _error("LIKE needs a text in quotes, such as 'agent.%'.")
        return value

    def _attribute(self) -> tuple[str, ...]:
        if self._token.kind != "name":
            raise self._unexpected("an attribute, such as `type` or `data.environment`")
        self._next += 1
        return tuple(self._tokens[self._next - 1].text.split("."))

    def _take(self, *texts: str) -> bool:
        match = self._token.kind in ("keyword", "sign") and self._token.text in texts
        self._next += match
        return match

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(text)

    def _unexpected(self, wanted: str) -> InvalidRequest:
        token = self._token
        ending = "ends there" if token.kind == "end" else f"has {token.text[:40]}"
        return _error(f"At character {token.at}, the expression needs {wanted}, but {ending}.")


def _read(event: Attributes, path: tuple[str, ...]) -> Any:
    value: Any = event
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _is_in(value: object, values: tuple[object, ...], is_negated: bool) -> bool:
    return value is not _ABSENT and (value in values) is not is_negated


def like_pattern(pattern: str) -> Validator:
    """Return a validator of texts with the form: `%` is any text, `_` one character.

    A user's pattern, so that it needs the linear-time engine of schemas.
    """
    parts = (_WILDCARDS.get(character) or _SPECIAL.sub(r"\\\g<0>", character) for character in pattern)
    return compile_schema({"type": "string", "pattern": f"^{''.join(parts)}$"})


def _error(message: str) -> InvalidRequest:
    return InvalidRequest(message)
