"""Strict YAML: the core schema of YAML 1.2 without dangerous or surprising features. Pure.

Rejected are anchors and aliases (a few lines can expand to gigabytes), tags, repeated names, names that are
not strings, deep nesting, NUL and other characters that cannot be stored. `no`, `on` and `1_000` are strings,
as in YAML 1.2. JSON is valid YAML, so it is accepted too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from controlplane.errors import FieldError, MalformedBody

MAX_DEPTH = 32
# Names and values of a stream. 15,000 overrides have as many, and take seconds to parse.
MAX_NODES = 500_000
Position = tuple[int, int]
_ABSENT: Any = object()
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# In hexadecimal this has nearly as many digits as Python converts to decimal (4300).
_LONGEST_INTEGER = 3500
# Characters that YAML forbids, and NEL, LS and PS, which libyaml folds as line breaks (YAML 1.1).
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAK = re.compile(r"\r\n|\r|\n")


def load(text: str) -> Any:
    """Return the only document. Raises MalformedBody with line and column."""
    documents = load_all(text)
    if len(documents) != 1:
        raise MalformedBody(f"Expected one YAML document, got {len(documents)}.")
    return documents[0]


def load_all(text: str) -> list[Any]:
    """Return all non-empty documents of the stream. Raises MalformedBody."""
    return [value for value, _ in _documents(text, positions=False) if value is not None]


def positions(text: str) -> list[dict[str, Position]]:
    """Return the line and column, from 1, of every value in each non-empty document, by JSON Pointer.

    This is a second pass, only for errors: tracking positions costs more than parsing.
    """
    return [places for value, places in _documents(text, positions=True) if value is not None]


def dump(document: Any) -> str:
    """Return the document as YAML, in its order, with strings quoted that YAML 1.1 or 1.2 would misread."""
    return dump_all([document])


def dump_all(documents: Iterable[Any]) -> str:
    """Return several documents as YAML, separated by `---`."""
    values = list(documents)
    return str(
        yaml.dump_all(
            values,
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            width=110,
            explicit_start=len(values) > 1,
        )
    )


def located(error: FieldError, places: Sequence[dict[str, Position]]) -> FieldError:
    """Add line and column to an error whose pointer begins with `/documents/<number>`."""
    number, _, inner = error.pointer.removeprefix("/documents/").partition("/")
    if not number.isdecimal() or int(number) >= len(places):
        return error
    line, column = nearest(f"/{inner}" if inner else "", places[int(number)])
    return replace(error, line=line, column=column)


def nearest(pointer: str, places: Mapping[str, Position]) -> Position:
    """Return the position of the value or its nearest parent; names can be in snake or camel case."""
    at = ""
    for step in pointer.split("/")[1:]:
        spelled = (f"{at}/{step}", f"{at}/{_camel(step)}")
        match = next((spelling for spelling in spelled if spelling in places), None)
        if match is None:
            break
        at = match
    return places.get(at, (0, 0))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in rest)


@dataclass(slots=True)
class _Open:
    """An open mapping or sequence. `name` is the name whose value comes next."""

    value: Any
    pointer: str
    name: Any = _ABSENT


@dataclass(slots=True)
class _Builder:
    """Builds values from parser events without recursion, so that a hostile depth uses no stack."""

    keep_positions: bool
    stack: list[_Open] = field(default_factory=list)
    root: Any = None
    places: dict[str, Position] = field(default_factory=dict)

    def take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self.scalar(event)
            case yaml.MappingStartEvent():
                self.begin(event, {})
            case yaml.SequenceStartEvent():
                self.begin(event, [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self.stack.pop()
            case yaml.AliasEvent():
                raise _malformed(event, "Aliases (*name) are not supported. Write out the value.")

    def scalar(self, event: Any) -> None:
        _reject_marks(event)
        text = event.value
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].name is _ABSENT:
            self._name(text, event)
            return
        self._place(_plain(text, event) if event.implicit[0] else _storable(text, event), event)

    def begin(self, event: Any, value: Any) -> None:
        _reject_marks(event)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].name is _ABSENT:
            raise _malformed(event, "A name must be a string, not a list or an object.")
        if len(self.stack) >= MAX_DEPTH:
            raise _malformed(event, f"The YAML is nested deeper than {MAX_DEPTH} levels.")
        pointer = self._place(value, event)
        self.stack.append(_Open(value, pointer))

    def _name(self, text: str, event: Any) -> None:
        open_ = self.stack[-1]
        name = _storable(text, event)
        if name in open_.value:
            raise _malformed(event, f"The name {name[:80]!r} is repeated in one object.")
        if name == "<<" and event.implicit[0]:
            raise _malformed(event, "Merge keys (<<) are not supported. Write out the fields.")
        open_.name = name

    def _place(self, value: Any, event: Any) -> str:
        """Add the value to its parent and return its pointer."""
        if not self.stack:
            self.root, pointer = value, ""
        elif isinstance(self.stack[-1].value, dict):
            open_ = self.stack[-1]
            open_.value[open_.name] = value
            pointer = f"{open_.pointer}/{_escaped(open_.name)}" if self.keep_positions else ""
            open_.name = _ABSENT
        else:
            open_ = self.stack[-1]
            pointer = f"{open_.pointer}/{len(open_.value)}"
            open_.value.append(value)
        if self.keep_positions:
            self.places[pointer] = (event.start_mark.line + 1, event.start_mark.column + 1)
        return pointer


def _documents(text: str, *, positions: bool) -> Iterator[tuple[Any, dict[str, Position]]]:
    _reject_unreadable(text)
    _reject_too_many(text)
    builder = _Builder(positions)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentEndEvent):
                yield builder.root, builder.places
                builder = _Builder(positions)
            else:
                builder.take(event)
    except yaml.YAMLError as error:
        raise _from_yaml(error) from error


def _plain(text: str, event: Any) -> Any:
    """Return the value of an unquoted scalar by the core schema (YAML 1.2.2, 10.3.2)."""
    if text in _WORDS:
        return _WORDS[text]
    if (plain := _INTEGER.fullmatch(text)) or _BASED.fullmatch(text):
        if len(text) > _LONGEST_INTEGER:
            raise _malformed(event, f"The number {text[:40]} is too large.")
        return int(text, 10 if plain else 0)
    if _FLOAT.fullmatch(text):
        if not math.isfinite(number := float(text)):
            raise _malformed(event, f"The number {text[:40]} is too large.")
        return number
    if _NOT_FINITE.fullmatch(text):
        raise _malformed(event, f"{text} is not a number in JSON.")
    return _storable(text, event)


def _storable(text: str, event: Any) -> str:
    if "\x00" in text or (
        not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
    ):
        raise _malformed(event, "A string contains a NUL character or a lone surrogate.")
    return text


def _reject_marks(event: Any) -> None:
    if event.anchor is not None:
        raise _malformed(event, "Anchors (&name) are not supported. Write out the value where it is used.")
    is_text = isinstance(event, yaml.ScalarEvent) and event.tag == "tag:yaml.org,2002:str"
    if event.tag is not None and not is_text:
        raise _malformed(event, "Tags (!name) are not supported. Remove the tag.")


def _reject_unreadable(text: str) -> None:
    if match := _UNREADABLE.search(text):
        lines = _BREAK.split(text[: match.start()])
        message = f"The character U+{ord(match[0]):04X} is not allowed in YAML. Escape it in a quoted string."
        raise _at(len(lines), len(lines[-1]) + 1, message)


def _reject_too_many(text: str) -> None:
    """Count names and values before building, which takes a quarter of the time."""
    if len(text) <= MAX_NODES:  # each takes at least one character, or a separator
        return
    nodes = depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            nodes += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if nodes > MAX_NODES:
                message = f"The YAML has more than {MAX_NODES} names and values. Split it into smaller parts."
                raise _malformed(event, message)
            if depth > MAX_DEPTH:  # libyaml takes quadratic time for these
                return
    except yaml.YAMLError:
        return  # the parser then reports the error with its position


def _malformed(event: Any, message: str) -> MalformedBody:
    return _at(event.start_mark.line + 1, event.start_mark.column + 1, message)


def _from_yaml(error: yaml.YAMLError) -> MalformedBody:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    return _at(mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, f"Invalid YAML: {problem}.")


def _at(line: int, column: int, message: str) -> MalformedBody:
    where = f" Line {line}, column {column}." if line else ""
    return MalformedBody(
        f"{message}{where}", errors=[FieldError("", "malformed", message, line=line, column=column)]
    )


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class _Dumper(yaml.CSafeDumper):
    """Quotes strings that YAML 1.1 or 1.2 would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    """Represent a string, with several lines as a block, so that a file in a ConfigMap is readable."""
    style = '"' if _UNREADABLE.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for _pattern, _tag in ((_INTEGER, "int"), (_BASED, "int"), (_FLOAT, "float"), (_NOT_FINITE, "float")):
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern.pattern})$"), list("-+.0123456789")
    )
