"""Errors with their exit codes. Errors of the API keep their code and request id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cpctl.exits import Exit


class CpctlError(Exception):
    """Base class of all errors. `hint` is the next command to try."""

    exit = Exit.USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> list[str]:
        return [self.message]


class UsageError(CpctlError):
    """Invalid command, option or input."""


class Declined(CpctlError):
    exit = Exit.DIFFERS


class Failed(CpctlError):
    """What the command waited for cannot happen any more."""

    exit = Exit.DIFFERS


class Conflicting(CpctlError):
    exit = Exit.CONFLICT


class NotFound(CpctlError):
    exit = Exit.NOT_FOUND


class TimedOut(CpctlError):
    exit = Exit.TIMEOUT


class Unreachable(CpctlError):
    exit = Exit.UNAVAILABLE


class ApiError(CpctlError):
    """A problem document (RFC 9457). Rely on `code`, not on the texts."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or problem.get("title") or f"The server responded with {status}.")
        )
        self.status = status
        self.problem = problem
        self.code = str(problem.get("code", ""))
        self.request_id = str(problem.get("request_id", ""))
        self.errors: Sequence[Mapping[str, Any]] = problem.get("errors") or ()
        self.hint = _HINTS.get(self.code, "")
        if problem.get("confirm") and problem.get("reason"):
            # The detail names the parameters of the API.
            self.message = str(problem["reason"])
            self.hint = f"review the plan with --dry-run, then add --confirm {problem['confirm']}"

    @property
    def exit(self) -> Exit:  # type: ignore[override]  # depends on the response here
        return _exit_of(self.status)

    def lines(self) -> list[str]:
        # A parameter of the query is an option here: its pointer tells nothing that the message does not.
        others = [error for error in self.errors if not _repeats(error, self.message)]
        lines = [self.message, *map(_line, others)]
        return [*lines, f"(code {self.code}, request {self.request_id})"]


_BY_STATUS = {
    401: Exit.AUTH,
    403: Exit.AUTH,
    404: Exit.NOT_FOUND,
    409: Exit.CONFLICT,
    410: Exit.NOT_FOUND,
    412: Exit.CONFLICT,
    428: Exit.CONFLICT,
    429: Exit.UNAVAILABLE,
}
_HINTS = {
    "not_authenticated": "cpctl login SERVER --token-file FILE",
    "permission_denied": "cpctl whoami",
    "managed_elsewhere": "set your manager with --manager NAME, or take ownership with --force",
    "confirmation_required": "review the plan with --dry-run, then add the --confirm value that it shows",
    "version_mismatch": "read it again: it has changed since you read it",
    "unknown_project": "cpctl get projects",
    "unknown_domain": "cpctl get domains",
    "unknown_resource_type": "cpctl get resource-types",
    "unknown_agent": "cpctl get agents",
    "unknown_plugin": "cpctl plugins list --mode server",
    "unknown_plugin_artifact": "cpctl plugins lock --upgrade, or install from a mirror that has it",
    "unknown_plugin_config": "cpctl plugins install -c FILE --mode server",
    "unknown_plugin_release": "cpctl plugins releases list",
    "unknown_resource": "cpctl resources list --show-deleted",
}


def _exit_of(status: int) -> Exit:
    return _BY_STATUS.get(status, Exit.UNAVAILABLE if status >= 500 else Exit.USAGE)


def _repeats(error: Mapping[str, Any], message: str) -> bool:
    return str(error.get("pointer", "")).startswith("?") and error.get("message") == message


def _line(error: Mapping[str, Any]) -> str:
    """Return one field error with its position, message, hint and allowed values."""
    place = f"{error.get('file', '')}:{error['line']}: " if error.get("line") else ""
    hint = f" {error['hint']}" if error.get("hint") else ""
    message, allowed = error.get("message", ""), ", ".join(map(str, error.get("allowed") or ()))
    # The messages of some fields list them.
    choices = f" Allowed: {allowed}." if allowed and allowed not in message else ""
    return f"  {place}{error.get('pointer', '')} {message}{hint}{choices}"
