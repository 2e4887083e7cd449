"""Spans. Until traces are started in this process, all of this does nothing and imports nothing.

with spans.span("effective.resolve") as span:
    ...
    span.set("controlplane.leaves", 7)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Self

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Attributes = Mapping[str, str | int | float | bool]


class Span(Protocol):
    """A span from its creation to `end`. As a context manager it is the current one in its block."""

    @property
    def traceparent(self) -> str:
        """Return its ids as a header of W3C Trace Context; empty while traces are off."""

    @property
    def is_recording(self) -> bool: ...

    def set(self, name: str, value: str | float | bool) -> None: ...

    def rename(self, name: str) -> None: ...

    def fail(self, error: str) -> None:
        """Note that it failed. error: the type of what went wrong. Messages can contain anything."""

    def end(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: Any) -> None: ...


class Recorder(Protocol):
    """What makes spans, once traces are started."""

    def span(
        self, name: str, kind: Kind, parent: str | None, attributes: Attributes | None, began_at: int | None
    ) -> Span: ...

    def current(self) -> Span | None:
        """Return the current span of this thread or task."""


class _NoSpan:
    """Does nothing, so that callers need not know whether traces are on."""

    traceparent = ""
    is_recording = False

    def set(self, name: str, value: str | float | bool) -> None:
        """Do nothing."""

    def rename(self, name: str) -> None:
        """Do nothing."""

    def fail(self, error: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Do nothing."""


NO_SPAN: Span = _NoSpan()
_recorder: Recorder | None = None


def use(recorder: Recorder | None) -> None:
    """Have this process make spans with the recorder; None: make none."""
    global _recorder  # noqa: PLW0603  (one for each process)
    _recorder = recorder


def is_on() -> bool:
    return _recorder is not None


def span(
    name: str,
    kind: Kind = "internal",
    *,
    parent: str | None = None,
    attributes: Attributes | None = None,
    began_at: int | None = None,
) -> Span:
    """Begin a span below the current one.

    parent: a traceparent that is continued instead; empty: none. began_at: nanoseconds since 1970.
    """
    if _recorder is None:
        return NO_SPAN
    return _recorder.span(name, kind, parent, attributes, began_at)


def current() -> Span:
    return (_recorder.current() if _recorder else None) or NO_SPAN


def traceparent() -> str:
    """Return the current span as a `traceparent` header; empty if there is none."""
    return current().traceparent
