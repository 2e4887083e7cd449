"""Server-sent events, and a stream that resumes after a failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# The server sends bookmarks more often than this: a longer silence means a dead connection.
SILENCE_SECONDS = 90.0


def follow(
    stream: Callable[[int], Iterator[str]],
    *,
    after: int,
    breaks: tuple[type[Exception], ...],
    rest: Callable[[int, Exception], int | None],
) -> Iterator[Any]:
    """Yield events after this number as they occur. The stream never ends.

    stream: returns the lines from a number on. rest: waits before the n-th attempt, or raises; returns the
    number to continue after if the events in between are gone.
    """
    failed = 0
    while True:
        try:
            for seq, event in parse(stream(after)):
                failed, after = 0, seq
                if event is not None:
                    yield event
        except breaks as error:
            failed += 1
            after = rest(failed, error) or after


def parse(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Yield complete server-sent events as (number, event). The event of a bookmark is None."""
    reader = Reader()
    return (event for line in lines if (event := reader.feed(line)) is not None)


class Reader:
    """Parses a stream line by line."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> tuple[int, Any] | None:
        """Return the event that ends with this line, if any."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if not fields.get("id", "").isdecimal():
            return None
        event = None if fields.get("event") == "bookmark" else json.loads(fields.get("data", "null"))
        return int(fields["id"]), event
