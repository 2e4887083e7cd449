"""The commands `debug`: what those who help need to see."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cpctl.columns import Kind, field, timestamp
from cpctl.commands import get, options
from cpctl.commands.doctor import all_findings
from cpctl.commands.support_bundle import write_bundle
from cpctl.output import Column, Format, say
from cpctl.session import SESSION

debug = typer.Typer(help="Collect what is needed to find a fault.", no_args_is_help=True)
debug.callback()(lambda: None)


_COLUMNS = (
    Column("SECONDS", lambda item: f"{item['seconds']:.1f}"),
    Column("STATUS", lambda item: item["status"] or "in progress"),
    field("METHOD"),
    field("PATH"),
    field("PRINCIPAL"),
    field("REQUEST", "request_id"),
    field("PROCESS", wide=True),
    timestamp("STARTED AT", "started_at", wide=True),
)
_REQUEST = Kind("requests", "debug/requests", _COLUMNS, key="request_id")


@debug.command("requests")
def requests(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List requests that the server works on, and recent slow ones. Requires the role admin.

    \b
    cpctl debug requests
    cpctl debug requests -o wide
    """
    # This list has no pages.
    items = SESSION.api().get("debug/requests").json()["items"]
    get.show(_REQUEST, items, output, headers=not no_headers)


@debug.command("bundle")
def bundle(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Where to write it. Default: a name with the time."),
    ] = None,
) -> None:
    """Write a support bundle (tar.gz) of the server and this machine. Secrets are removed.

    \b
    cpctl debug bundle
    cpctl debug bundle support-2.tar.gz
    """
    path = file or Path(f"cpctl-support-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar.gz")
    write_bundle(path, [finding.as_json() for finding in all_findings()])
    say(str(path))
    SESSION.tell("Read the bundle before you send it.")
