"""Output of lists page by page, with one page in memory at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from cpctl.output import GAP, Column, Format, Item, as_cell, as_csv, as_yaml, forget_output, stream_item

Page = Sequence[Item]


def print_pages(chunks: Iterable[str]) -> None:
    """Write each chunk immediately, so that a pipe gets the first page before the second is requested.

    Stops when the reader does, as in `cpctl get agents | head`.
    """
    try:
        for chunk in chunks:
            sys.stdout.write(chunk)
            sys.stdout.flush()
    except BrokenPipeError:
        forget_output()


def chunks(
    columns: Sequence[Column],
    pages: Iterable[Page],
    *,
    how: Format,
    name_of: Callable[[Item], str],
    headers: bool = True,
) -> Iterator[str]:
    """The text of a list, one chunk or more for each page. What is picked out of a list needs all of it."""
    if how.pick is not None:
        return _lines(how.pick({"items": list(chain.from_iterable(pages))}))
    if how is Format.JSON:
        return _json(pages)
    if how is Format.YAML:
        return _yaml(pages)
    if how is Format.NAME:
        return chain.from_iterable(_lines(name_of(item) for item in page) for page in pages)
    if how is Format.CSV:
        return _csv(columns, pages, headers=headers)
    return _table(
        [column for column in columns if how is Format.WIDE or not column.wide], pages, headers=headers
    )


def _lines(lines: Iterable[str]) -> Iterator[str]:
    text = "".join(f"{line}\n" for line in lines)
    if text:
        yield text


def _json(pages: Iterable[Page]) -> Iterator[str]:
    """Yield the same text as `json.dumps({"items": [...]}, indent=2)`."""
    before, after = '{\n  "items": [\n', '{\n  "items": []\n}\n'
    for page in filter(None, pages):
        # JSON escapes line breaks in strings: the remaining ones are layout.
        items = (json.dumps(item, indent=2, ensure_ascii=False).replace("\n", "\n    ") for item in page)
        yield before + ",\n".join(f"    {item}" for item in items)
        before, after = ",\n", "\n  ]\n}\n"
    yield after


def _yaml(pages: Iterable[Page]) -> Iterator[str]:
    """Yield YAML. Sequences in a mapping are not indented, so that pages can be concatenated."""
    first = True
    for page in filter(None, pages):
        yield ("items:\n" if first else "") + as_yaml(list(page)) + "\n"
        first = False
    if first:
        yield "items: []\n"


def _csv(columns: Sequence[Column], pages: Iterable[Page], *, headers: bool) -> Iterator[str]:
    for page in pages:
        yield from _lines(as_csv(columns, page, headers=headers))
        headers = False


def _table(columns: Sequence[Column], pages: Iterable[Page], *, headers: bool) -> Iterator[str]:
    """Yield table rows with the widths of the first page. Longer cells of later pages shift their row."""
    widths: list[int] = []
    for page in pages:
        rows: list[list[str]] = [[as_cell(column.value(item)) for column in columns] for item in page]
        if not widths:
            titles = [[column.title for column in columns]] if headers else []
            rows = titles + rows
            widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        yield from _lines(_row(row, widths) for row in rows)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


class ChangedRows:
    """Prints objects as they change, in columns as wide as those of the first ones."""

    def __init__(
        self, columns: Sequence[Column], how: Format, name_of: Callable[[Item], str], *, headers: bool
    ) -> None:
        self._columns = [column for column in columns if how is Format.WIDE or not column.wide]
        self._how, self._name_of, self._headers = how, name_of, headers
        self._widths: list[int] = []

    def __call__(self, items: Page) -> None:
        for line in self._lines(items):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _lines(self, items: Page) -> Iterator[str]:
        if self._how.is_whole:
            return chain.from_iterable(stream_item(item, self._how) for item in items)
        if self._how is Format.NAME:
            return map(self._name_of, items)
        if self._how is Format.CSV:
            headers, self._headers = self._headers, False
            return iter(as_csv(self._columns, items, headers=headers))
        return iter(self._rows(items))

    def _rows(self, items: Page) -> list[str]:
        rows = [[as_cell(column.value(item)) for column in self._columns] for item in items]
        if not self._widths:
            titles = [column.title for column in self._columns]
            rows = [titles, *rows] if self._headers else rows
            self._widths = [max(map(len, cells)) for cells in zip(titles, *rows, strict=True)]
        return [_row(row, self._widths) for row in rows]


def first_and_rest(pages: Iterable[Page]) -> tuple[Page, Iterator[Any]]:
    """Return the first page with items, to detect an empty list before printing, and an iterator over all.

    Pages of a text search may be empty although later ones are not.
    """
    coming = iter(pages)
    first = next((page for page in coming if page), [])
    return first, chain([first], coming)
