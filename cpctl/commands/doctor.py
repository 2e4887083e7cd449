"""`doctor`: is everything between you and the server as it should be?"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from cpctl.commands import options
from cpctl.contexts import config_path
from cpctl.errors import CpctlError
from cpctl.exits import Exit
from cpctl.output import Format, document, say
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Answer

_SKEW_SECONDS = 30
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    good: bool
    detail: str

    def shown(self) -> dict[str, Any]:
        return {"check": self.check, "good": self.good, "detail": self.detail}


def doctor(output: options.Output = Format.TABLE) -> None:
    """Check configuration, address, clock, versions and permissions. Exits 1 if something is wrong.

    \b
    cpctl doctor
    """
    found = list(_findings())
    if output.is_whole:
        say(*document({"items": [one.shown() for one in found]}, output))
    else:
        paint = SESSION.paint()
        for one in found:
            mark = paint("green", "ok  ") if one.good else paint("red", "BAD ")
            say(f"{mark} {one.check}: {one.detail}")
    if not all(one.good for one in found):
        raise typer.Exit(Exit.DIFFERS)


def _findings() -> Iterator[Finding]:
    yield private(config_path())
    try:
        context = SESSION.chosen()
    except CpctlError as error:
        yield Finding("context", False, f"{error.message} Try: {error.hint}")
        return
    yield Finding("context", True, f"{context.name or '(none)'} at {context.server}")
    yield encrypted(context.server)
    api = SESSION.api(context)
    answer, finding = _asked("server", lambda: api.get("version"), lambda one: _version(one.json()))
    yield finding
    if answer is None:
        return
    yield clock(answer.headers.of("Date"), datetime.now(UTC))
    yield _asked("identity", lambda: api.get("me"), lambda one: str(one.json()["name"]))[1]
    yield _asked("overrides", lambda: api.get("overrides", {"limit": 1}), lambda one: "may be read")[1]
    yield _asked("events", lambda: api.get("events", {"limit": 1}), lambda one: "may be followed")[1]


def private(path: Path) -> Finding:
    """Nobody but its owner may read what holds tokens."""
    if not path.exists():
        return Finding("configuration", True, f"{path} does not exist yet")
    open_to_others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if open_to_others:
        return Finding("configuration", False, f"others can read {path}. Try: chmod 600 {path}")
    return Finding("configuration", True, str(path))


def encrypted(server: str) -> Finding:
    parts = urlsplit(server)
    if parts.scheme == "https" or parts.hostname in _HERE:
        return Finding("encryption", True, parts.scheme)
    return Finding("encryption", False, "the token travels in the clear: use https")


def clock(said: str, now: datetime) -> Finding:
    """This machine's clock against the server's."""
    from email.utils import parsedate_to_datetime

    try:
        apart = (now - parsedate_to_datetime(said)).total_seconds()
    except (TypeError, ValueError):
        return Finding("clock", True, "the server does not tell the time")
    return Finding("clock", abs(apart) <= _SKEW_SECONDS, f"{apart:+.0f} s from the server's")


def _asked(
    check: str, ask: Callable[[], Answer], told: Callable[[Answer], str]
) -> tuple[Answer | None, Finding]:
    try:
        answer = ask()
        return answer, Finding(check, True, told(answer))
    except CpctlError as error:
        return None, Finding(check, False, f"{error.message} Try: {error.hint or 'cpctl --debug doctor'}")


def _version(said: Any) -> str:
    known = said.get("control_plane_version", said)
    return f"version {known.get('Version') or known.get('version') or 'unknown'}"
