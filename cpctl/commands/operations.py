"""The command `operations`: what continues after its request was answered."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from cpctl.client import Api
from cpctl.commands import get, options
from cpctl.dispatch_kinds import OPERATION
from cpctl.errors import Failed, TimedOut
from cpctl.output import Format
from cpctl.paths import segment
from cpctl.session import SESSION

operations = typer.Typer(help="List, show, await and cancel operations.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="Such as resource.my-vm.")]
# The server waits for 30 seconds at most.
_MOST_SECONDS = 20
_PAUSE_SECONDS = 2.0


@operations.command("list")
def list_operations(
    *,
    kind: Annotated[str, typer.Option(help="Only of this kind, such as resource.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state, such as running.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List operations, the newest first.

    \b
    cpctl operations list --state running
    """
    query = {"kind": kind, "state": state}
    get.list_of(OPERATION, query, output, headers=not no_headers, limit=limit)


@operations.command("show")
def show_operation(operation: Id, *, output: options.Output = Format.YAML) -> None:
    """Show an operation: its state, progress, result and error.

    \b
    cpctl operations show resource.my-vm
    """
    get.describe(kind=OPERATION.name, name=operation, output=output)


@operations.command("wait")
def wait_for_operation(
    operation: Id,
    *,
    timeout: options.Timeout = 300.0,
    output: options.Output = Format.TABLE,
) -> None:
    """Wait until an operation has succeeded. Exits with 6 after the timeout.

    Exits with 1 if it fails or is cancelled.

    \b
    cpctl operations wait resource.my-vm --timeout 10m
    """
    ended = _wait(SESSION.api(), operation, time.monotonic() + timeout)
    if ended["state"] != "succeeded":
        detail = (ended["error"] or {}).get("detail", "")
        message = f"{operation}: {ended['state']}. {detail}".strip()
        raise Failed(message, hint=f"cpctl operations show {operation}")
    get.show(OPERATION, [ended], output)


@operations.command()
def cancel(
    operation: Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Cancel an operation. What it has already done stays.

    \b
    cpctl operations cancel resource.my-new-vm
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Cancel the operation {operation}?")
    cancelled = SESSION.api().post(f"{_path(operation)}:cancel", None, query=change.query()).json()
    get.show(OPERATION, [cancelled], output)


def _wait(api: Api, operation: str, until: float) -> Any:
    """Return the operation once it is done. until: by the monotonic clock. Raises TimedOut."""
    while True:
        left = max(0.0, until - time.monotonic())
        seconds = min(_MOST_SECONDS, int(left))
        headers = {"Prefer": f"wait={seconds}"} if seconds else {}
        response = api.send("GET", _path(operation), headers=headers, timeout=seconds + 10)
        content = response.json()
        if content["done"]:
            return content
        if (left := until - time.monotonic()) <= 0:
            raise TimedOut(
                f"Timed out: {operation} is {content['state']}.", hint=f"cpctl operations show {operation}"
            )
        if not response.headers.of("Preference-Applied"):
            time.sleep(min(_PAUSE_SECONDS, left))


def _path(operation: str) -> str:
    return f"{OPERATION.path}/{segment(operation)}"
