"""The commands `task-types` and `audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl import completion
from cpctl.agent_kinds import TASK_TYPE
from cpctl.columns import Kind, field, timestamp
from cpctl.commands import get, options
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.paths import segment

# Without --since and --limit.
_RECORDS = 200
task_types = typer.Typer(help="List task types and the agents that serve them.", no_args_is_help=True)
_COLUMNS = (
    field("AGENT"),
    field("ENVIRONMENT"),
    field("VERSION"),
    field("STATE", "health_status"),
    timestamp("SINCE", "since", wide=True),
)


@task_types.command("list")
def list_task_types(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List task types with the number of agents that serve them.

    \b
    cpctl task-types list
    """
    get.list_of(TASK_TYPE, {}, output, headers=not no_headers)


@task_types.command("show")
def show_task_type(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.task_types)],
    *,
    version: Annotated[str, typer.Option(help="Filter by version.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the agents that serve a task type.

    \b
    cpctl task-types show acme_sensor
    """
    served = Kind("agents", f"{TASK_TYPE.path}/{segment(name)}", _COLUMNS, key="agent")
    get.list_of(served, {"version": version}, output, headers=not no_headers)


def audit(
    *,
    actor: Annotated[str, typer.Option(help="Filter by actor.")] = "",
    object_type: Annotated[str, typer.Option(help="Filter by object type, such as override.")] = "",
    object_id: Annotated[str, typer.Option(help="Filter by object id.")] = "",
    action: Annotated[str, typer.Option(help="Filter by action, such as override.changed.")] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    request: Annotated[str, typer.Option(help="Filter by request id.")] = "",
    search: options.Text = "",
    since: options.Since = "",
    until: options.Until = "",
    limit: options.Limit = None,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List audit records, newest first: the last 200, or all since a time.

    \b
    cpctl audit --since 2h --until 1h
    cpctl audit --actor ada --object-type override -o wide
    cpctl audit --search max_parallelism --since 7d
    cpctl audit -p billing -d production
    """
    query = {"actor": actor, "object_type": object_type, "object_id": object_id, "request_id": request}
    most = limit or (None if since else _RECORDS)
    scanned = {"action": action, "project": project, "domain": domain, "q": search}
    filters = {**query, **scanned, "since": since, "until": until}
    get.list_of(kind_named("audit"), filters, output, headers=not no_headers, limit=most)
