"""The command `doctor`: checks of the configuration and the connection to the server."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from cpctl import VERSION
from cpctl.commands import options
from cpctl.contexts import config_path
from cpctl.errors import ApiError, CpctlError
from cpctl.exits import Exit
from cpctl.output import Format, counted, document, say
from cpctl.session import SESSION
from cpctl.version_skew import server_version, skew

if TYPE_CHECKING:
    from cpctl.client import Api, Response

_SKEW_SECONDS = 30
_FORBIDDEN = 403
_MOST_NAMED = 10
# How a process differs. Only the last two are wrong; the others are as during an upgrade.
_SKEWS = {
    "skewed": "another version runs beside it",
    "newer_schema": "the schema is newer",
    "schema_missing": "its migrations were not applied",
    "too_old": "too old for the schema; update it",
}
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    good: bool
    detail: str

    def as_json(self) -> dict[str, Any]:
        return {"check": self.check, "good": self.good, "detail": self.detail}


Bundle = Annotated[
    str,
    typer.Option("--bundle", metavar="FILE", help="Also write a support bundle (tar.gz), without secrets."),
]


def doctor(output: options.Output = Format.TABLE, bundle: Bundle = "") -> None:
    """Check configuration, address, clock, versions and permissions. Exits with 1 if a check fails.

    \b
    cpctl doctor
    cpctl doctor --bundle support.tar.gz
    """
    findings = all_findings()
    if bundle:
        from cpctl.commands.support_bundle import write_bundle

        write_bundle(Path(bundle), [finding.as_json() for finding in findings])
        SESSION.tell(f"Wrote {bundle}. Look into it before you send it.")
    if output.is_whole:
        say(*document({"items": [finding.as_json() for finding in findings]}, output))
    else:
        paint = SESSION.paint()
        for finding in findings:
            mark = paint("green", "ok  ") if finding.good else paint("red", "BAD ")
            say(f"{mark} {finding.check}: {finding.detail}")
    if not all(finding.good for finding in findings):
        raise typer.Exit(Exit.DIFFERS)


def all_findings() -> list[Finding]:
    """Run every check."""
    return list(_findings())


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
    answer, finding = _check_call(
        "server", lambda: api.get("version"), lambda response: _version(response.json())
    )
    yield finding
    if answer is None:
        return
    yield release(server_version(answer.json()))
    yield clock(answer.headers.of("Date"), datetime.now(UTC))
    yield _check_call("identity", lambda: api.get("me"), lambda response: str(response.json()["name"]))[1]
    yield from _installation(api)
    yield _check_call("overrides", lambda: api.get("overrides", {"limit": 1}), lambda response: "readable")[1]
    yield _check_call("events", lambda: api.get("events", {"limit": 1}), lambda response: "readable")[1]


def _installation(api: Api) -> Iterator[Finding]:
    try:
        yield from installation(api.get("meta").json())
    except ApiError as error:
        if error.status != _FORBIDDEN:
            yield Finding("installation", False, error.message)
        else:
            yield Finding("installation", True, "not shown to you: it needs the role viewer everywhere")
    except CpctlError as error:
        yield Finding("installation", False, error.message)


def installation(meta: Any) -> Iterator[Finding]:
    """Return one finding for each check of the server that fails, or one if none does."""
    failed = [check for check in meta["checks"] if not check["is_good"]]
    for check in failed:
        about = f" ({check['about']})" if check["about"] else ""
        detail = f"{check['name']}{about} is at {check['value']:g}. {check['meaning']} See {check['runbook']}"
        yield Finding("installation", False, detail)
    if not failed:
        yield Finding("installation", True, f"{counted(len(meta['checks']), 'check')} of the server")
    # A server of the previous release sends neither.
    if members := meta.get("members"):
        yield versions(members)
    if backup := meta.get("backup"):
        yield Finding("backup", True, f"the last one ended at {backup['finished_at']}")


def versions(members: Any) -> Finding:
    """Compare the versions of the server's processes with each other and with the schema."""
    counts = ", ".join(
        f"{number} {'process' if number == 1 else 'processes'} of {version}"
        for version, number in sorted(members["versions"].items())
    )
    odd = sorted(
        f"{one['process']} {one['instance']} ({one['version']}): {_SKEWS[one['skew']]}"
        for one in members["items"]
        if not one["is_gone"] and one["skew"] in _SKEWS
    )
    is_good = members["skew"] not in ("too_old", "schema_missing")
    return Finding(
        "versions", is_good, "; ".join([counts or "no process has told of itself", *odd[:_MOST_NAMED]])
    )


def private(path: Path) -> Finding:
    """Check that only its owner can read the configuration, which contains tokens."""
    if not path.exists():
        return Finding("configuration", True, f"{path} does not exist yet")
    open_to_others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if open_to_others:
        return Finding("configuration", False, f"other users can read {path}. Try: chmod 600 {path}")
    return Finding("configuration", True, str(path))


def encrypted(server: str) -> Finding:
    parts = urlsplit(server)
    if parts.scheme == "https" or parts.hostname in _HERE:
        return Finding("encryption", True, parts.scheme)
    return Finding("encryption", False, "the token is sent unencrypted; use https")


def release(server: str) -> Finding:
    """Compare the releases of cpctl and the server."""
    warning = skew(VERSION, server)
    return Finding("cpctl", not warning, warning or f"version {VERSION}, as supported by the server")


def clock(server_date: str, now: datetime) -> Finding:
    """Compare the clocks of this machine and the server."""
    from email.utils import parsedate_to_datetime

    try:
        apart = (now - parsedate_to_datetime(server_date)).total_seconds()
    except (TypeError, ValueError):
        return Finding("clock", True, "the server sends no time")
    return Finding("clock", abs(apart) <= _SKEW_SECONDS, f"{apart:+.0f} s from the server's")


def _check_call(
    check: str, ask: Callable[[], Response], describe: Callable[[Response], str]
) -> tuple[Response | None, Finding]:
    try:
        answer = ask()
        return answer, Finding(check, True, describe(answer))
    except CpctlError as error:
        return None, Finding(check, False, f"{error.message} Try: {error.hint or 'cpctl --debug doctor'}")


def _version(body: Any) -> str:
    return f"version {server_version(body) or 'unknown'}"
