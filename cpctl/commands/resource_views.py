"""The commands `resources assignments|explain`: where a resource is, and why."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import typer

from cpctl.columns import field
from cpctl.commands import change_options, options, resource_options
from cpctl.commands.resource_requests import requests_in
from cpctl.dispatch_kinds import ASSIGNMENTS, RESOURCE, TIMELINE
from cpctl.errors import UsageError
from cpctl.output import Column, Format, as_text, document, listing, say, table
from cpctl.session import SESSION


def assignments(
    resource: resource_options.Id,
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Show the attempts at agents, and what happened in each.

    \b
    cpctl resources assignments my-vm
    """
    path = f"{change_options.path_of(RESOURCE, resource)}/assignments"
    answer = SESSION.api().get(path).json()
    if output.is_whole:
        return say(*document(answer, output))
    attempts = answer["items"]
    if not attempts:
        return SESSION.tell(f"{resource} has not been given to an agent.")
    if output in (Format.TABLE, Format.WIDE):
        say(*table(ASSIGNMENTS, attempts, headers=not no_headers), "")
    entries = [
        {"epoch": one["epoch"], "agent": one["agent"], **entry}
        for one in attempts
        for entry in one["timeline"]
    ]
    entries.sort(key=lambda entry: str(entry["at"]))
    return say(*listing(TIMELINE, entries, how=output, name_of=_event_of, headers=not no_headers))


def explain(
    resource: Annotated[
        str, typer.Argument(metavar="[ID]", help="Id of a resource, instead of a file.")
    ] = "",
    *,
    file: Annotated[
        str, typer.Option("-f", "--file", help="File with a request, or - for standard input.")
    ] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Show which agent placement chooses now, and why each other agent is not eligible or comes later.

    \b
    cpctl resources explain my-vm
    cpctl resources explain -f vm.yaml -o yaml
    """
    if bool(resource) == bool(file):
        raise UsageError("Specify either an id or a file.", hint="cpctl resources explain -f FILE")
    body = {"resource_id": resource} if resource else _without_spec(file)
    answer = SESSION.api().post("placements:explain", body).json()
    if output.is_whole:
        return say(*document(answer, output))
    if output in (Format.TABLE, Format.WIDE):
        say(f"{answer['chosen'] or 'No agent'}: {answer['reason']}", "")
    if not answer["verdicts"]:
        return SESSION.tell("No agents that you may read offer the service type.")
    columns = (field("AGENT"), field("ELIGIBLE"), *_scores(answer["verdicts"]), Column("REASONS", _reasons))
    return say(
        *listing(
            columns,
            answer["verdicts"],
            how=output,
            name_of=lambda item: str(item["agent"]),
            headers=not no_headers,
        )
    )


def _without_spec(file: str) -> dict[str, Any]:
    requests = requests_in([file])
    if len(requests) > 1:
        raise UsageError(f"{file} must contain one request, not {len(requests)}.")
    return {name: value for name, value in requests[0].body.items() if name != "spec"}


def _scores(verdicts: list[Any]) -> list[Column]:
    """A column for each part of the score that is not zero for all agents."""
    names = dict.fromkeys(
        name for verdict in verdicts for name, value in (verdict.get("score") or {}).items() if value
    )
    return [Column(name.upper().replace("_", " "), partial(_score, name)) for name in names]


def _score(name: str, verdict: Mapping[str, Any]) -> str:
    value = (verdict.get("score") or {}).get(name)
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else as_text(value)


def _reasons(verdict: Mapping[str, Any]) -> str:
    return " ".join(verdict.get("reasons") or [])


def _event_of(entry: Mapping[str, Any]) -> str:
    return str(entry.get("event_id") or entry["what"])
