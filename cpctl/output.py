"""Output formats. Tables are for people and may change; JSON and YAML are as in the API."""

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
# Erases the line of a terminal.
CLEAR_LINE = "\r\x1b[K"


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
    output_format.name: output_format
    for output_format in (Format.TABLE, Format.WIDE, Format.JSON, Format.YAML, Format.NAME, Format.CSV)
}


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 plugin`, `2 plugins`. plural: for other endings."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    value: Callable[[Item], Any]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Paint:
    """Colors, according to --color, NO_COLOR, CPCTL_NO_COLOR and whether the output is a terminal."""

    on: bool

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on else text


def signed(line: str, paint: Paint) -> str:
    """Return a line with a change in the color of its sign."""
    style = {"+": "green", "-": "red", "~": "yellow"}.get(line[:1])
    return paint(style, line) if style else line


def wants_color(option: str, environment: Mapping[str, str], *, terminal: bool) -> bool:
    if option in ("always", "never"):
        return option == "always"
    if environment.get("NO_COLOR") or environment.get("CPCTL_NO_COLOR"):
        return False
    return terminal and environment.get("TERM") != "dumb"


def paint_for(option: str, stream: IO[str]) -> Paint:
    return Paint(wants_color(option, os.environ, terminal=stream.isatty()))


def say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


def forget_output() -> None:
    """Discard further output after the reader has left, or Python would report an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str) -> None:
    """Print a message to standard error, so that it does not end up in pipes."""
    # A terminal may show how far the work is in this line.
    sys.stderr.write(f"{CLEAR_LINE if sys.stderr.isatty() else ''}{text}\n")


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)).rstrip("\n")


def as_cell(value: Any) -> str:
    """Return a value for a table, with yes and no for booleans."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return as_text(value)


def as_text(value: Any, *, keep: str = "") -> str:
    """Return a value as text: strings unchanged, anything else as compact JSON.

    keep: the control characters that stay. A server can answer with anything; a terminal must not obey.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(
        letter if letter.isprintable() or letter in keep else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def table(columns: Sequence[Column], items: Iterable[Item], *, headers: bool = True) -> list[str]:
    """Return lines with aligned columns, without padding of the last one."""
    rows = [[as_cell(column.value(item)) for column in columns] for item in items]
    if headers:
        rows.insert(0, [column.title for column in columns])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)] if rows else []
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def as_csv(columns: Sequence[Column], items: Iterable[Item], *, headers: bool = True) -> list[str]:
    """Return CSV with all columns, including the wide ones."""
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
    """Return a list in the given format."""
    if how.is_whole:
        return document({"items": items}, how)
    if how is Format.NAME:
        return [name_of(item) for item in items]
    if how is Format.CSV:
        return as_csv(columns, items, headers=headers)
    columns_shown = [column for column in columns if how is Format.WIDE or not column.wide]
    return table(columns_shown, items, headers=headers)


def document(value: Any, how: Format) -> list[str]:
    """One object: what is picked out of it, JSON if asked for, else YAML."""
    if how.pick is not None:
        return how.pick(value)
    return [as_json(value) if how is Format.JSON else as_yaml(value)]


def stream_item(value: Any, how: Format) -> list[str]:
    """Return one object of a stream: JSON on one line, or a YAML document."""
    if how is Format.JSON:
        return [json.dumps(value, ensure_ascii=False)]
    return [*(["---"] if how is Format.YAML else []), *document(value, how)]
