"""Progress of installations: one line that changes at a terminal, else lines; or events as JSON."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from cpctl.output import Format, as_text, say
from cpctl.session import SESSION

_SECONDS_BETWEEN = 0.2
_MIB = 2**20


class Progress:
    """Shows events. Threads share one."""

    def __init__(self, how: Format) -> None:
        self._is_json = how is Format.JSON
        self._is_live = not (self._is_json or SESSION.quiet) and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._bytes = self._total = 0
        self._began = self._shown_at = time.monotonic()
        self._line = ""

    def event(self, event: str, text: str, **facts: Any) -> None:
        """Show that something has happened: the text to people, the facts to programs."""
        with self._lock:
            if self._is_json:
                say(json.dumps({"event": event, **facts}, ensure_ascii=False))
                sys.stdout.flush()
            elif text:
                self._clear()
                SESSION.tell(as_text(text))
                self._draw()

    def expect(self, total: int) -> None:
        """Begin to count bytes of this total."""
        self._bytes, self._total, self._began = 0, total, time.monotonic()

    def add_bytes(self, count: int) -> None:
        """Count fetched bytes; a negative number takes them back."""
        with self._lock:
            self._bytes += count
            if self._is_live and time.monotonic() - self._shown_at > _SECONDS_BETWEEN:
                self._shown_at = time.monotonic()
                rate = self._bytes / max(0.001, self._shown_at - self._began)
                self._set(
                    f"{self._bytes / _MIB:.1f} of {self._total / _MIB:.1f} MiB, {rate / _MIB:.1f} MiB/s"
                )

    def state(self, text: str) -> None:
        """Show what is going on now, at a terminal alone."""
        with self._lock:
            if self._is_live:
                self._set(as_text(text))

    def end(self) -> None:
        """Remove the line that changes."""
        with self._lock:
            self._clear()
            self._line = ""

    def _set(self, line: str) -> None:
        self._clear()
        self._line = line
        self._draw()

    def _clear(self) -> None:
        if self._line:
            sys.stderr.write("\r\x1b[K")

    def _draw(self) -> None:
        if self._line:
            sys.stderr.write(self._line)
            sys.stderr.flush()
