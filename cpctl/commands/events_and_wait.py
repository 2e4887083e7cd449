"""The commands `events` and `wait`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import Kind, field
from cpctl.commands import options
from cpctl.commands.get import KindName, find, show_pages
from cpctl.errors import TimedOut, UsageError
from cpctl.kinds import EVENT_COLUMNS, kind_named
from cpctl.output import GAP, Format, as_cell, as_text, listing, say, stream_item
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api

# Aliases of the API's field names.
_FIELDS = {"state": "health_status"}


_TYPES = (field("NAME"), field("MEANING"))
events = typer.Typer()
# Without --since and --limit.
_EVENTS = 50
_EVENT = Kind("events", "events", EVENT_COLUMNS, key="seq")
_After = Annotated[int | None, typer.Option(min=0, help="Events after this number, oldest first.")]
_Type = Annotated[str, typer.Option(help="Filter by event type, such as agent.registered.")]
_ObjectType = Annotated[str, typer.Option(help="Filter by object type, such as agent.")]
_ObjectId = Annotated[str, typer.Option(help="Filter by object id.")]


@events.callback(invoke_without_command=True)
def show_events(
    ctx: typer.Context,
    *,
    since: options.Since = "",
    until: options.Until = "",
    after: _After = None,
    type: _Type = "",
    object_type: _ObjectType = "",
    object_id: _ObjectId = "",
    search: options.Text = "",
    limit: options.Limit = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow new events.")] = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List events, newest first: the last 50, or all since a time.

    \b
    cpctl events --since 2h --until 1h --object-type agent
    cpctl events --after 0 --limit 100
    cpctl events --search prod-eu-1 --since 1d
    """
    if ctx.invoked_subcommand:
        return None
    query = {"type": type, "object_type": object_type, "object_id": object_id, "since": since}
    if watch:
        return _watch(query, after, output)
    query |= {"q": search, "until": until}
    most = limit or (None if since else _EVENTS)
    api = SESSION.api()
    pages = (
        api.pages("events", query, most=most, cursor="before")
        if after is None
        else _following(api, query, after, most or _EVENTS)
    )
    return show_pages(_EVENT, pages, output, headers=not no_headers)


def _following(api: Api, query: dict[str, Any], after: int, most: int) -> Iterator[list[Any]]:
    """Yield pages of existing events after a number, oldest first."""
    while most > 0:
        page = api.get("events", {**query, "after": after, "limit": min(most, 200)}).json()
        yield page["items"]
        if not page["items"]:
            return
        after, most = page["next_after"], most - len(page["items"])


@events.command("watch")
def watch_events(
    *,
    since: options.Since = "",
    after: _After = None,
    type: _Type = "",
    object_type: _ObjectType = "",
    object_id: _ObjectId = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Follow events: from now on, since a time, or after a number.

    \b
    cpctl events watch --type agent.unavailable
    cpctl events watch --since 10m -o json
    """
    query = {"type": type, "object_type": object_type, "object_id": object_id, "since": since}
    _watch(query, after, output)


@events.command("follow")
def follow_events(
    *,
    since: options.Since = "",
    after: _After = None,
    type: _Type = "",
    object_type: _ObjectType = "",
    object_id: _ObjectId = "",
    cloudevents: Annotated[
        bool, typer.Option("--cloudevents", help="Print CloudEvents 1.0, one JSON object a line.")
    ] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Follow events, as they are or as CloudEvents with the attributes that webhooks get.

    \b
    cpctl events follow --cloudevents --type agent.unavailable
    """
    query = {"type": type, "object_type": object_type, "object_id": object_id, "since": since}
    if cloudevents:
        _watch({**query, "format": "cloudevents"}, after, Format.JSON)
    else:
        _watch(query, after, output)


@events.command("types")
def list_types(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List event types with their meaning.

    \b
    cpctl events types
    """
    # This list has no pages.
    types = SESSION.api().get("event-types").json()["items"]
    say(
        *listing(
            _TYPES,
            types,
            how=output,
            name_of=lambda event_type: str(event_type["name"]),
            headers=not no_headers,
        )
    )


def wait(
    *,
    kind: KindName,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.names)],
    condition: Annotated[str, typer.Option("--for", help="Condition FIELD=VALUE, such as state=ready.")],
    timeout: options.Timeout = 60.0,
) -> None:
    """Wait until a field has a value. Exits with 6 after the timeout.

    \b
    cpctl wait agent my-agent --for=state=ready --timeout 2m
    """
    object_kind = kind_named(kind)
    field, _, value = condition.partition("=")
    if not field or not value or not object_kind.object_type:
        raise UsageError(
            "Specify the condition as FIELD=VALUE.", hint="cpctl wait agent NAME --for=state=ready"
        )
    until = time.monotonic() + timeout
    if object_kind.name == "resources":
        from cpctl import resource_waits

        resource_waits.wait_for(SESSION.api(), name, resource_waits.condition(condition), until)
    else:
        _wait(SESSION.api(), object_kind, name, (_FIELDS.get(field, field), value), until)
    SESSION.tell(f"{name}: {condition}")


def _wait(api: Api, kind: Kind, name: str, condition: tuple[str, str], until: float) -> None:
    from cpctl import event_stream

    field, value = condition
    after = event_stream.last_seq(api)
    while True:
        item = find(api, kind, name)
        if field not in item:
            raise UsageError(f"Unknown field {field!r} of {kind.name}. Fields: {', '.join(item)}.")
        if as_text(item[field]) == value:
            return
        left = until - time.monotonic()
        if left <= 0:
            raise TimedOut(f"Timed out: {name} has {field} {as_text(item[field])!r}, not {value!r}.")
        _, after = event_stream.poll(api, {"object_type": kind.object_type}, after=after, seconds=left)


def _watch(query: dict[str, Any], after: int | None, how: Format) -> None:
    from cpctl import event_stream

    api = SESSION.api()
    if after is None:
        after = 0 if query["since"] else event_stream.last_seq(api)
    for event in event_stream.watch(api, query, after=after):
        say(*_lines(event, how))
        sys.stdout.flush()


def _lines(event: Any, how: Format) -> list[str]:
    if how.is_whole:
        return stream_item(event, how)
    if how is Format.NAME:
        return [str(event["seq"])]
    columns = [column for column in EVENT_COLUMNS if how is Format.WIDE or not column.wide]
    return [GAP.join(as_cell(column.value(event)) for column in columns)]
