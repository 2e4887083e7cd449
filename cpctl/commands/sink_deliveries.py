"""The commands `deliveries`: events on their way to sinks."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.commands.sinks import Sink, sink_id
from cpctl.output import Format
from cpctl.session import SESSION
from cpctl.sink_kinds import DELIVERY, SINK

deliveries = typer.Typer(help="List deliveries of events, retry and discard them.", no_args_is_help=True)


@deliveries.command("list")
def list_deliveries(
    sink: Sink,
    *,
    state: Annotated[str, typer.Option(help="Filter by state, such as waiting or dead.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List the deliveries of a sink, newest first.

    \b
    cpctl deliveries list incidents --state dead
    """
    path = f"{change_options.path_of(SINK, sink_id(sink))}/deliveries"
    rows = SESSION.api().items(path, change_options.non_empty(state=state), most=limit)
    get.show(DELIVERY, list(rows), output, headers=not no_headers)


@deliveries.command("show")
def show_delivery(delivery: change_options.Id, *, output: options.Output = Format.YAML) -> None:
    """Show a delivery with its attempts and what the receiver answered.

    \b
    cpctl deliveries show 019a9f5e-7c00-7000-8000-000000000031
    """
    change_options.show_whole(DELIVERY, delivery, output)


@deliveries.command("retry")
def retry(
    delivery: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Send a delivery now.

    \b
    cpctl deliveries retry 019a9f5e-7c00-7000-8000-000000000031
    """
    _settle("retry", delivery, options.ChangeOptions(message, dry_run, yes), output)


@deliveries.command("discard")
def discard(
    delivery: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Give a delivery up, so that the next event of its object follows.

    \b
    cpctl deliveries discard 019a9f5e-7c00-7000-8000-000000000031 -m "Handled by hand"
    """
    _settle("discard", delivery, options.ChangeOptions(message, dry_run, yes), output)


def _settle(verb: str, delivery: str, change: options.ChangeOptions, how: Format) -> None:
    change.ask(f"{verb.capitalize()} {delivery}?")
    path = f"{change_options.path_of(DELIVERY, delivery)}:{verb}"
    get.show(DELIVERY, [SESSION.api().post(path, query=change.query()).json()], how)
