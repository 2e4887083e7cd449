"""YAML in and out: YAML 1.2's core schema, without what makes YAML dangerous or surprising. Pure.

Refused: anchors and aliases (a few lines can mean gigabytes), tags, repeated names, names that are not
text, deep nesting, NUL and other characters that cannot be stored. `no`, `on` and `1_000` are texts, as
YAML 1.2 says. JSON is YAML, so JSON is read as well.
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
# Names and values of one stream together. 15,000 overrides have as many; reading them takes seconds.
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
# As hexadecimal this has nearly as many digits as Python turns into a text (4300).
_LONGEST_INTEGER = 3500
# What YAML forbids, and NEL, LS and PS: libyaml takes those for line breaks (YAML 1.1), and folds them.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAK = re.compile(r"\r\n|\r|\n")


def load(text: str) -> Any:
    """Return the one document. Raises MalformedBody with line and column."""
    documents = load_all(text)
    if len(documents) != 1:
        raise MalformedBody(f"One YAML document is wanted here, not {len(documents)}.")
    return documents[0]


def load_all(text: str) -> list[Any]:
    """Return every document of the stream that is not empty. Raises MalformedBody."""
    return [value for value, _ in _documents(text, positions=False) if value is not None]


def positions(text: str) -> list[dict[str, Position]]:
    """Line and column, from 1, of every value of every document that is not empty, by JSON Pointer.

    A second pass, for errors only: keeping positions costs more than reading.
    """
    return [places for value, places in _documents(text, positions=True) if value is not None]


def dump(document: Any) -> str:
    """Return the document as YAML: members in their order, texts quoted where any YAML would misread them."""
    return dump_all([document])


def dump_all(documents: Iterable[Any]) -> str:
    """The same for several documents, separated by `---`."""
    found = list(documents)
    return str(
        yaml.dump_all(
            found,
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            width=110,
            explicit_start=len(found) > 1,
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
    """The place of the value, or of the nearest thing around it; names may be in either casing."""
    at = ""
    for step in pointer.split("/")[1:]:
        spelled = (f"{at}/{step}", f"{at}/{_camel(step)}")
        found = next((one for one in spelled if one in places), None)
        if found is None:
            break
        at = found
    return places.get(at, (0, 0))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that has not ended. `name` is the name that waits for its value."""

    value: Any
    pointer: str
    name: Any = _ABSENT


@dataclass(slots=True)
class _Builder:
    """Makes plain values of parser events, without recursion: a hostile depth costs no stack."""

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
                raise _malformed(event, "Aliases (*name) are not understood. Write the value out.")

    def scalar(self, event: Any) -> None:
        _refuse_marks(event)
        text = event.value
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].name is _ABSENT:
            self._name(text, event)
            return
        self._place(_plain(text, event) if event.implicit[0] else _storable(text, event), event)

    def begin(self, event: Any, value: Any) -> None:
        _refuse_marks(event)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].name is _ABSENT:
            raise _malformed(event, "A name must be a text, not a list or an object.")
        if len(self.stack) >= MAX_DEPTH:
            raise _malformed(event, f"This is nested deeper than {MAX_DEPTH} levels.")
        pointer = self._place(value, event)
        self.stack.append(_Open(value, pointer))

    def _name(self, text: str, event: Any) -> None:
        open_ = self.stack[-1]
        name = _storable(text, event)
        if name in open_.value:
            raise _malformed(event, f"The name {name[:80]!r} stands twice in one object.")
        if name == "<<" and event.implicit[0]:
            raise _malformed(event, "Merge keys (<<) are not understood. Write the members out.")
        open_.name = name

    def _place(self, value: Any, event: Any) -> str:
        """Put the value where it belongs; return its pointer."""
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
    _refuse_unreadable(text)
    _refuse_too_many(text)
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
    """A scalar without quotes, by the core schema (YAML 1.2.2, 10.3.2)."""
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
        raise _malformed(event, f"{text} is no number that JSON has.")
    return _storable(text, event)


def _storable(text: str, event: Any) -> str:
    if "\x00" in text or (not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text)):
        raise _malformed(event, "A text has a NUL character or half of a surrogate pair.")
    return text


def _refuse_marks(event: Any) -> None:
    if event.anchor is not None:
        raise _malformed(event, "Anchors (&name) are not understood. Write the value out where it is meant.")
    is_text = isinstance(event, yaml.ScalarEvent) and event.tag == "tag:yaml.org,2002:str"
    if event.tag is not None and not is_text:
        raise _malformed(event, "Tags (!name) are not understood.")


def _refuse_unreadable(text: str) -> None:
    if found := _UNREADABLE.search(text):
        lines = _BREAK.split(text[: found.start()])
        message = f"The character U+{ord(found[0]):04X} cannot stand in YAML as it is."
        raise _at(len(lines), len(lines[-1]) + 1, message)


def _refuse_too_many(text: str) -> None:
    """Count before anything is built, which takes a quarter of the time."""
    if len(text) <= MAX_NODES:  # each has a character, or one that sets it apart from the next
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
        return  # whoever reads it says what is wrong, and where


def _malformed(event: Any, message: str) -> MalformedBody:
    return _at(event.start_mark.line + 1, event.start_mark.column + 1, message)


def _from_yaml(error: yaml.YAMLError) -> MalformedBody:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    return _at(mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, f"This is not YAML: {problem}.")


def _at(line: int, column: int, message: str) -> MalformedBody:
    where = f" Line {line}, column {column}." if line else ""
    return MalformedBody(
        f"{message}{where}", errors=[FieldError("", "malformed", message, line=line, column=column)]
    )


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class _Dumper(yaml.CSafeDumper):
    """Quotes what YAML 1.1 or YAML 1.2 would read as something else than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    """Several lines stand as they are: a file within a ConfigMap must be readable."""
    style = '"' if _UNREADABLE.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for _pattern, _tag in ((_INTEGER, "int"), (_BASED, "int"), (_FLOAT, "float"), (_NOT_FINITE, "float")):
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern.pattern})$"), list("-+.0123456789")
    )
