"""The commands `sinks`: receivers of events."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.errors import NotFound, UsageError
from cpctl.output import Format, document, say
from cpctl.session import SESSION
from cpctl.sink_kinds import SINK, sink_fields

sinks = typer.Typer(help="Manage receivers of events: test, pause, replay, secrets.", no_args_is_help=True)
Sink = Annotated[str, typer.Argument(metavar="SINK", help="Name or id of the sink.")]
Types = Annotated[list[str] | None, typer.Option("--type", help="Event type, or a kind: agent.*")]
Expression = Annotated[str, typer.Option(help="Part of CloudEvents SQL that events must fulfil.")]


@sinks.command("list")
def list_sinks(
    *,
    state: Annotated[str, typer.Option(help="Filter by state: active, paused, disabled.")] = "",
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List sinks with their health.

    \b
    cpctl sinks list
    cpctl sinks list --state disabled -o wide
    """
    get.list_of(
        SINK, {"state": state, "q": search, "sort": sort}, output, headers=not no_headers, limit=limit
    )


@sinks.command("show")
def show_sink(sink: Sink, *, output: options.Output = Format.YAML) -> None:
    """Show a sink with its filter and its health.

    \b
    cpctl sinks show incidents
    """
    change_options.show_whole(SINK, sink_id(sink), output)


@sinks.command("create")
def create_sink(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the sink.")],
    *,
    url: Annotated[str, typer.Option(help="Of a webhook: where events are sent.")] = "",
    file: Annotated[
        str, typer.Option("-f", "--file", help="Sink of any kind, or - for standard input.")
    ] = "",
    types: Types = None,
    expression: Expression = "",
    flavour: Annotated[
        str, typer.Option(help="In whose format events are sent, such as flyte-v2. Default: native.")
    ] = "",
    team: Annotated[str, typer.Option(help="Team that owns the sink.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a sink. Of a webhook, print the secret that verifies its signatures; it is shown once.

    \b
    cpctl sinks create tickets --url https://hooks.example.com/cp --type 'agent.*'
    cpctl sinks create bus -f sink.yaml
    """
    if bool(url) == bool(file):
        raise UsageError("Give either --url or --file.")
    body = change_options.object_in(file) if file else {"config": {"url": url}}
    wanted = {**body.get("filter", {}), **change_options.non_empty(types=types, expression=expression)}
    body = {**body, "name": name, "filter": wanted, **change_options.non_empty(flavour=flavour, team=team)}
    change = options.ChangeOptions(message, dry_run, yes)
    question = f"Send events to {url or name}?"
    change_options.create_secret(SINK, body, change, output, question=question, printed_field="secret")


@sinks.command("set")
def set_sink(
    sink: Sink,
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Replace a sink by a file, as `show` prints it.

    \b
    cpctl sinks set incidents -f sink.yaml
    """
    body = sink_fields(change_options.object_in(file))
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.put(SINK, sink_id(sink), body, change, output)


@sinks.command("delete")
def delete_sink(
    sink: Sink,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a sink with its deliveries.

    \b
    cpctl sinks delete incidents
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(SINK, sink_id(sink)), sink, change)


@sinks.command("pause")
def pause(
    sink: Sink,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Stop sending to a sink. No event is lost.

    \b
    cpctl sinks pause incidents -m "The receiver moves"
    """
    _change("pause", sink, options.ChangeOptions(message, dry_run, yes), output)


@sinks.command("resume")
def resume(
    sink: Sink,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Send to a sink again, beginning with the events that it has missed.

    \b
    cpctl sinks resume incidents
    """
    _change("resume", sink, options.ChangeOptions(message, dry_run, yes), output)


@sinks.command("test")
def send_test(sink: Sink, *, output: options.Output = Format.YAML) -> None:
    """Send a test event now, and show what the receiver answered.

    \b
    cpctl sinks test incidents
    """
    answer = SESSION.api().post(f"{_path(sink)}:test").json()
    say(*document(answer, output if output.is_whole else Format.YAML))
    if answer["result"] != "delivered":
        raise typer.Exit(1)


@sinks.command("replay")
def replay(
    sink: Sink,
    *,
    after: Annotated[int | None, typer.Option(min=0, help="Send the events after this number.")] = None,
    since: Annotated[str, typer.Option(help="Send the events since: 2h, or an RFC 3339 time.")] = "",
    until: Annotated[int | None, typer.Option(min=0, help="Up to this number. Default: up to now.")] = None,
    types: Types = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Send events of the past once more, with their old ids.

    \b
    cpctl sinks replay incidents --after 4000 --type 'agent.*'
    cpctl sinks replay incidents --since 2h
    """
    if (after is None) == (not since):
        raise UsageError("Give either --after or --since.")
    change = options.ChangeOptions(message, dry_run, yes)
    beginning = {"since": since} if since else {"after_seq": after}
    change.ask(f"Send the events {f'since {since}' if since else f'after {after}'} to {sink} once more?")
    body = {**beginning, **({} if until is None else {"until_seq": until}), "types": types or []}
    started = SESSION.api().post(f"{_path(sink)}:replay", body, query=change.query()).json()
    change.tell(f"Events {started['after_seq'] + 1} to {started['until_seq']} are sent to {sink} once more.")


@sinks.command("rotate-secret")
def rotate_secret(
    sink: Sink,
    *,
    overlap_hours: Annotated[int, typer.Option(min=0, help="For so long, old secrets sign too.")] = 24,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Sign with a new secret, and print it. It is shown once.

    \b
    cpctl sinks rotate-secret incidents --overlap-hours 2
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Sign with a new secret for {sink}?")
    body = {"overlap_hours": overlap_hours}
    made = SESSION.api().post(f"{_path(sink)}:rotate-secret", body, query=change.query()).json()
    if not dry_run:
        say(made["secret"])


@sinks.command("revoke-old")
def revoke_old(
    sink: Sink,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Sign with the newest secret alone, from now on.

    \b
    cpctl sinks revoke-old incidents
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Stop signing with old secrets for {sink}?")
    SESSION.api().post(f"{_path(sink)}:revoke-old", query=change.query())
    change.tell(f"Only the newest secret of {sink} signs.")


@sinks.command("preview")
def preview(
    *, types: Types = None, expression: Expression = "", output: options.Output = Format.YAML
) -> None:
    """Show which of the last 1,000 events would go to a sink with this filter.

    \b
    cpctl sinks preview --type 'agent.*' --expression "data.environment = 'prod'"
    """
    wanted = change_options.non_empty(types=types, expression=expression)
    answer = SESSION.api().post("sinks:preview", {"filter": wanted}).json()
    say(*document(answer, output if output.is_whole else Format.YAML))


def sink_id(name: str) -> str:
    """Return the id of the sink with this name or id. Raises NotFound."""
    if get.is_id(name):
        return name
    found: list[Any] = [sink for sink in SESSION.api().items(SINK.path) if sink["name"] == name]
    if len(found) == 1:
        return str(found[0]["id"])
    if found:
        raise NotFound(f"Several teams have a sink {name!r}. Use its id.", hint="cpctl sinks list -o wide")
    raise NotFound(f"The sink {name!r} does not exist.", hint="cpctl sinks list")


def _path(sink: str) -> str:
    return change_options.path_of(SINK, sink_id(sink))


def _change(verb: str, sink: str, change: options.ChangeOptions, how: Format) -> None:
    change.ask(f"{verb.capitalize()} {sink}?")
    get.show(SINK, [SESSION.api().post(f"{_path(sink)}:{verb}", query=change.query()).json()], how)
