"""The part of jq's language that `--jq` and `-o jsonpath=` take. Pure.

Paths, pipes, `select`, comparisons and a few functions; what is not known is told with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from cpctl.errors import UsageError
from cpctl.selectors.filters import (
    BadValue,
    Filter,
    after,
    always,
    everything,
    instead,
    iterate,
    itself,
    logic,
    member,
    own_member,
    tried,
)
from cpctl.selectors.functions import COMPARISONS, OF_A_FILTER, PLAIN

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'[^']*')|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<sign>//|==|!=|<=|>=|\.\.|[<>|,.()\[\]{}:?$@*-]))""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None}
_END = "the end"


class Token(NamedTuple):
    kind: str
    text: str
    at: int


def compiled(text: str, *, jsonpath: bool = False) -> Filter:
    """What the expression finds in a value. Raises UsageError, here or when it is asked."""
    parser = _Parser(text, jsonpath=jsonpath)
    found = parser.pipe()
    parser.expect(_END)

    def ask(value: Any) -> Iterator[Any]:
        try:
            yield from found(value)
        except BadValue as error:
            raise UsageError(f"{text.strip()!r}: {error}", hint="look at it whole with -o json") from error

    return ask


@dataclass(slots=True)
class _Parser:
    """Reads from left to right; each method takes what it is called after."""

    text: str
    jsonpath: bool
    _tokens: list[Token] = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self._read()

    def pipe(self) -> Filter:
        found = self._commas()
        while self._takes("|"):
            found = after(found, self._commas())
        return found

    def expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._wrong(f"{sign!r} is missing" if sign != _END else "this goes on")

    def _commas(self) -> Filter:
        found = [self._alternatives()]
        while self._takes(","):
            found.append(self._alternatives())
        return lambda value: chain.from_iterable(one(value) for one in found)

    def _alternatives(self) -> Filter:
        found = self._either()
        if not self._takes("//"):
            return found
        return instead(found, self._alternatives())

    def _either(self) -> Filter:
        found = self._both()
        while self._takes("or"):
            found = logic(found, self._both(), any)
        return found

    def _both(self) -> Filter:
        found = self._comparison()
        while self._takes("and"):
            found = logic(found, self._comparison(), all)
        return found

    def _comparison(self) -> Filter:
        left = self._path()
        for sign, compare in COMPARISONS.items():
            if self._takes(sign):
                right = self._path()
                return lambda value: (compare(a, b) for b in right(value) for a in left(value))
        return left

    def _path(self) -> Filter:
        found = self._start()
        while (step := self._step()) is not None:
            found = tried(found) if step is tried else after(found, step)
        return found

    def _start(self) -> Filter:
        token = self._tokens[0]
        if token.kind in ("string", "number") or token.text in ("-", *_WORDS):
            return always(self._constant())
        if self.jsonpath and (self._takes("$") or self._takes("@")):
            return itself
        if token.text == "..":
            return itself if self.jsonpath else self._recursion()
        if token.text == ".":
            return self._dot()
        for sign, inside in (("(", self._group), ("[", self._list), ("{", self._object)):
            if self._takes(sign):
                return inside()
        return self._function()

    def _dot(self) -> Filter:
        """`.` alone, or the dot of `.name`, which is a step."""
        if self._tokens[1].kind in ("name", "string") or self._tokens[1].text == "*":
            return itself
        self._next()
        return itself

    def _step(self) -> Any:
        """The next step of a path; None if there is none."""
        if self._takes("?"):
            return tried
        if self._takes("["):
            return self._bracket()
        if self.jsonpath and self._tokens[0].text == "..":
            return self._recursion()
        return self._after_dot() if self._takes(".") else None

    def _after_dot(self) -> Filter:
        if self._takes("["):
            return self._bracket()
        if self.jsonpath and self._takes("*"):
            return iterate
        return member(self._name())

    def _recursion(self) -> Filter:
        self._next()
        if self.jsonpath and self._tokens[0].kind == "name":
            return after(everything, own_member(self._name()))
        return everything

    def _bracket(self) -> Filter:
        """What stands in brackets after a path, such as 0, 1:3, "name", or nothing."""
        if self._takes("]"):
            return iterate
        if self.jsonpath and self._takes("*"):
            self.expect("]")
            return iterate
        if self.jsonpath and self._takes("?"):
            self.expect("(")
            wanted = self._group()
            self.expect("]")
            return after(iterate, OF_A_FILTER["select"](wanted))
        key = None if self._tokens[0].text == ":" else self._constant()
        if self._takes(":"):
            end = None if self._tokens[0].text == "]" else self._constant()
            if not all(isinstance(one, int | None) for one in (key, end)):
                raise self._wrong("a part goes from number to number")
            key = slice(key, end)
        self.expect("]")
        return member(key)

    def _group(self) -> Filter:
        inside = self.pipe()
        self.expect(")")
        return inside

    def _list(self) -> Filter:
        if self._takes("]"):
            return always([])
        inside = self.pipe()
        self.expect("]")
        return lambda value: iter([list(inside(value))])

    def _object(self) -> Filter:
        parts: dict[str, Filter] = {}
        while not self._takes("}"):
            name = self._name()
            parts[name] = self._alternatives() if self._takes(":") else member(name)
            if self._tokens[0].text != "}":
                self.expect(",")
        return lambda value: iter([{name: next(part(value), None) for name, part in parts.items()}])

    def _function(self) -> Filter:
        token = self._next()
        if token.text in PLAIN:
            plain = PLAIN[token.text]
            return lambda value: iter([plain(value)])
        if token.text in OF_A_FILTER:
            self.expect("(")
            return OF_A_FILTER[token.text](self._group())
        known = ", ".join([*PLAIN, *OF_A_FILTER])
        said = (
            f"there is no {token.text!r}; known are {known}" if token.kind == "name" else "a path is missing"
        )
        raise self._wrong(said, token)

    def _name(self) -> str:
        token = self._next()
        if token.kind == "string":
            return self._string(token)
        if token.kind != "name":
            raise self._wrong("a name is missing", token)
        return token.text

    def _constant(self) -> Any:
        minus = self._takes("-")
        token = self._next()
        if token.kind == "number":
            return (float if "." in token.text else int)(token.text) * (-1 if minus else 1)
        if token.kind == "string" and not minus:
            return self._string(token)
        if token.text in _WORDS and not minus:
            return _WORDS[token.text]
        raise self._wrong("a number or a string is missing", token)

    def _string(self, token: Token) -> str:
        if token.text.startswith("'"):
            if self.jsonpath:
                return token.text[1:-1]
            raise self._wrong('strings stand in "', token)
        try:
            return str(json.loads(token.text))
        except ValueError as error:
            raise self._wrong("this is no string", token) from error

    def _takes(self, sign: str) -> bool:
        token = self._tokens[0]
        taken = token.text == sign and token.kind != "string"
        if taken:
            self._next()
        return taken

    def _next(self) -> Token:
        token = self._tokens[0]
        if token.kind != _END:
            self._tokens = self._tokens[1:]
        return token

    def _read(self) -> list[Token]:
        tokens, at = [], 0
        end = len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self._wrong("this is not known", Token("", "", at))
            kind = str(match.lastgroup)
            tokens.append(Token(kind, match[kind], match.start(kind)))
            at = match.end()
        # Two: a dot looks at what follows it.
        return [*tokens, Token(_END, _END, end), Token(_END, _END, end)]

    def _wrong(self, what: str, token: Token | None = None) -> UsageError:
        at = (token or self._tokens[0]).at
        message = f"{self.text.strip()!r} cannot be read from character {at + 1} on: {what}."
        return UsageError(message, hint="docs/guides/cpctl.md says what is known")
