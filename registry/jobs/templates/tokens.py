"""Split a template into text and tokens of actions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from registry.jobs.templates.errors import SUPPORTED, TemplateError

_SPACES = " \t\r\n"
_TRIMMED_START = re.compile(r"-[ \t\r\n]")
_COMMENT_END = re.compile(r"\*/([ \t\r\n]-)?\}\}")


class Kind(StrEnum):
    TEXT = "text"
    OPEN = "{{"
    CLOSE = "}}"
    FIELD = "field"
    DOT = "."
    VARIABLE = "variable"
    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    RAW_STRING = "raw string"
    PIPE = "|"
    DECLARE = ":="
    COMMA = ","
    LEFT = "("
    RIGHT = ")"


@dataclass(frozen=True, slots=True)
class Token:
    """at: its offset in the source. is_spaced: whether white space precedes it."""

    kind: Kind
    text: str
    at: int
    is_spaced: bool = False


# In this order: the first that matches. A closing trim marker needs white space before it.
_TOKEN = re.compile(
    r"""(?P<SPACE>[ \t\r\n]+)?(?:
      (?P<CLOSE>(?(SPACE)-?|)\}\})
    | (?P<FIELD>(?:\.[A-Za-z_][A-Za-z0-9_]*)+)
    | (?P<VARIABLE>\$[A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<NUMBER>[+-]?\.?[0-9][0-9A-Za-z_.]*)
    | (?P<STRING>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<RAW_STRING>`[^`]*`)
    | (?P<DOT>\.)
    | (?P<PIPE>\|)
    | (?P<DECLARE>:=)
    | (?P<COMMA>,)
    | (?P<LEFT>\()
    | (?P<RIGHT>\))
    )""",
    re.VERBOSE,
)
_ENDS = re.compile(r"[ \t\r\n.,|:()]|\}\}|\Z")
_NAMED = (Kind.FIELD, Kind.VARIABLE, Kind.NAME, Kind.NUMBER)


def split_template(source: str) -> Iterator[Token]:
    """Yield texts, trimmed as their actions demand, and the tokens of actions. Raises TemplateError."""
    at, is_trimmed = 0, False
    while (start := source.find("{{", at)) >= 0:
        is_trim_marker = _TRIMMED_START.match(source, start + 2) is not None
        yield from _text(source, at, start, left=is_trimmed, right=is_trim_marker)
        inside = start + 4 if is_trim_marker else start + 2
        if source.startswith("/*", inside):
            at, is_trimmed = _skip_comment(source, inside)
            continue
        yield Token(Kind.OPEN, "{{", start)
        token = None
        for token in _action(source, inside, start):
            yield token
        at, is_trimmed = _end(token)
    yield from _text(source, at, len(source), left=is_trimmed, right=False)


def _text(source: str, start: int, end: int, *, left: bool, right: bool) -> Iterator[Token]:
    text = source[start:end]
    if left:
        text = text.lstrip(_SPACES)
    if right:
        text = text.rstrip(_SPACES)
    if text:
        yield Token(Kind.TEXT, text, start)


def _skip_comment(source: str, at: int) -> tuple[int, bool]:
    closing = source.find("*/", at + 2)
    if closing < 0:
        raise TemplateError("The comment is not closed. End it with */}}.", source, at)
    if (end := _COMMENT_END.match(source, closing)) is None:
        raise TemplateError("A comment must be an action of its own: {{/* text */}}.", source, at)
    return end.end(), end[1] is not None


def _action(source: str, at: int, start: int) -> Iterator[Token]:
    while True:
        match = _TOKEN.match(source, at)
        if match is None or match.lastgroup is None:
            raise _unreadable(source, at, start)
        kind = Kind[match.lastgroup]
        begin, at = match.start(kind.name), match.end()
        if kind in _NAMED and not _ENDS.match(source, at):
            raise TemplateError(f"Unexpected character after {match[kind.name][:40]}.", source, at)
        yield Token(kind, match[kind.name], begin, match["SPACE"] is not None)
        if kind is Kind.CLOSE:
            return


def _end(token: Token | None) -> tuple[int, bool]:
    assert token is not None  # an action ends with its closing token or raises
    return token.at + len(token.text), token.text.startswith("-")


def _unreadable(source: str, at: int, start: int) -> TemplateError:
    while at < len(source) and source[at] in _SPACES:
        at += 1
    if at >= len(source):
        return TemplateError("The action is not closed. End it with }}.", source, start)
    if source[at] in '"`':
        return TemplateError("The string is not closed.", source, at)
    return TemplateError(f"Unexpected character {source[at]!r}. {SUPPORTED}", source, at)
