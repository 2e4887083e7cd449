"""How answers are shown. Tables are for people and may change; JSON and YAML are as the API says them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, ClassVar

Item = Mapping[str, Any]
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "strike": "2;9"}
GAP = "   "


@dataclass(frozen=True, slots=True)
class Format:
    """How to show an answer. pick: the lines of what is picked out of it."""

    name: str
    pick: Callable[[Any], list[str]] | None = None

    TABLE: ClassVar[Format]
    WIDE: ClassVar[Format]
    JSON: ClassVar[Format]
    YAML: ClassVar[Format]
    NAME: ClassVar[Format]
    CSV: ClassVar[Format]

    @property
    def is_whole(self) -> bool:
        """Is the answer taken as the API says it, and not as a table?"""
        return self.pick is not None or self in (Format.JSON, Format.YAML)

    @property
    def file(self) -> str:
        """What is no format is the name of a file, where one may be said."""
        return "" if self.pick or self.name in FORMATS else self.name

    def __str__(self) -> str:
        return self.name


Format.TABLE, Format.WIDE = Format("table"), Format("wide")
Format.JSON, Format.YAML = Format("json"), Format("yaml")
Format.NAME, Format.CSV = Format("name"), Format("csv")
FORMATS = {
    one.name: one for one in (Format.TABLE, Format.WIDE, Format.JSON, Format.YAML, Format.NAME, Format.CSV)
}


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    value: Callable[[Item], Any]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Paint:
    """Colour, or none: by --color, NO_COLOR, CPCTL_NO_COLOR, and whether somebody looks."""

    on: bool

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on else text


def signed(line: str, paint: Paint) -> str:
    """A change that begins with its sign."""
    style = {"+": "green", "-": "red", "~": "yellow"}.get(line[:1])
    return paint(style, line) if style else line


def wants_colour(said: str, environment: Mapping[str, str], *, terminal: bool) -> bool:
    if said in ("always", "never"):
        return said == "always"
    if environment.get("NO_COLOR") or environment.get("CPCTL_NO_COLOR"):
        return False
    return terminal and environment.get("TERM") != "dumb"


def paint_for(said: str, stream: IO[str]) -> Paint:
    return Paint(wants_colour(said, os.environ, terminal=stream.isatty()))


def say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


def forget_output() -> None:
    """Nobody reads standard output any more: without this Python complains about it when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str) -> None:
    """For people, on standard error, so that what is piped stays clean."""
    sys.stderr.write(text + "\n")


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)).rstrip("\n")


def as_cell(value: Any) -> str:
    """A fact in a table: nothing, yes and no for people."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return as_text(value)


def as_text(value: Any) -> str:
    """A value that somebody set: words as they are, the rest as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # What the server tells may hold anything: a terminal must not obey it.
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def table(columns: Sequence[Column], items: Iterable[Item], *, headers: bool = True) -> list[str]:
    """Lines with aligned columns. The last one is not padded."""
    rows = [[as_cell(column.value(item)) for column in columns] for item in items]
    if headers:
        rows.insert(0, [column.title for column in columns])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)] if rows else []
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def as_csv(columns: Sequence[Column], items: Iterable[Item], *, headers: bool = True) -> list[str]:
    """Every column, the wide ones too: whoever loads it can leave some out."""
    import csv
    from io import StringIO

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if headers:
        writer.writerow([column.title for column in columns])
    writer.writerows([as_cell(column.value(item)) for column in columns] for item in items)
    return text.getvalue().splitlines()


def listing(
    columns: Sequence[Column],
    items: Sequence[Item],
    *,
    how: Format,
    name_of: Callable[[Item], str],
    headers: bool = True,
) -> list[str]:
    """A list in the format that was asked for."""
    if how.is_whole:
        return document({"items": items}, how)
    if how is Format.NAME:
        return [name_of(item) for item in items]
    if how is Format.CSV:
        return as_csv(columns, items, headers=headers)
    shown = [column for column in columns if how is Format.WIDE or not column.wide]
    return table(shown, items, headers=headers)


def document(value: Any, how: Format) -> list[str]:
    """One object: what is picked out of it, JSON if asked for, else YAML."""
    if how.pick is not None:
        return how.pick(value)
    return [as_json(value) if how is Format.JSON else as_yaml(value)]


def one_of_many(value: Any, how: Format) -> list[str]:
    """One object of those that keep coming: on one line, or as one YAML document."""
    if how is Format.JSON:
        return [json.dumps(value, ensure_ascii=False)]
    return [*(["---"] if how is Format.YAML else []), *document(value, how)]
