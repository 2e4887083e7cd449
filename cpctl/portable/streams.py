"""Server-sent events, and a watch that goes on where it broke."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# The server sends a bookmark more often than this; silence means a dead connection.
SILENCE_SECONDS = 90.0


def follow(
    stream: Callable[[int], Iterator[str]],
    *,
    after: int,
    breaks: tuple[type[Exception], ...],
    rest: Callable[[int, Exception], None],
) -> Iterator[Any]:
    """Yield events after this number as they happen, for ever.

    stream: the lines from a number on. rest: waits before the n-th try, or raises.
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
            rest(failed, error)


def parse(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Server-sent events as (number, event); the event of a bookmark is None. Half an event is none."""
    reader = Reader()
    return (told for line in lines if (told := reader.feed(line)) is not None)


class Reader:
    """Takes a stream line by line."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def feed(self, line: str) -> tuple[int, Any] | None:
        """The event that this line ends, if it ends one."""
        if line:
            name, _, value = line.partition(":")
            self._said[name] = value.removeprefix(" ")
            return None
        said, self._said = self._said, {}
        if not said.get("id", "").isdecimal():
            return None
        told = None if said.get("event") == "bookmark" else json.loads(said.get("data", "null"))
        return int(said["id"]), told
