"""Paginated lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def every_page(page: Callable[[str], tuple[Iterable[Item], str]]) -> Iterator[Iterable[Item]]:
    """Yield all pages of a list. page: returns the items at a cursor, at first empty, and the next cursor."""
    cursor = ""
    while True:
        items, cursor = page(cursor)
        yield items
        if not cursor:
            return


def every_item(page: Callable[[str], tuple[Iterable[Item], str]]) -> Iterator[Item]:
    """Yield all items of a list. page: as in `every_page`."""
    for items in every_page(page):
        yield from items
