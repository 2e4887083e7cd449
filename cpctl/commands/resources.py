"""The commands `resources`: request resources, look at them, wait for them, and end them."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.commands import get, options, resource_changes, resource_options, resource_views
from cpctl.commands.resource_requests import requests_in, store
from cpctl.dispatch_kinds import RESOURCE
from cpctl.errors import CpctlError
from cpctl.output import Format, document, say
from cpctl.resource_waits import Condition, condition, wait_for
from cpctl.session import SESSION

resources = typer.Typer(
    help="Request resources from agents, wait for them, cancel, retry and delete them.", no_args_is_help=True
)
resources.command("delete")(resource_changes.delete)
resources.command("cancel")(resource_changes.cancel)
resources.command("retry")(resource_changes.retry)
resources.command("assignments")(resource_views.assignments)
resources.command("explain")(resource_views.explain)
_Id = Annotated[
    str, typer.Argument(metavar="[ID]", help="Id of a resource.", autocompletion=completion.resources)
]


@resources.command("list")
def list_resources(
    *,
    state: resource_options.States = None,
    service_type: resource_options.ServiceType = "",
    agent: resource_options.Agent = "",
    team: options.Team = "",
    project: options.Project = "",
    domain: options.Domain = "",
    selector: options.Selector = "",
    show_deleted: resource_options.ShowDeleted = False,
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List resources.

    \b
    cpctl resources list --state failed --state deletion_failed
    cpctl resources list --agent prod-eu-1 -l tier=gold -o wide
    cpctl resources list --search vm- --sort state,-created_at
    """
    query = resource_options.query(
        state,
        show_deleted=show_deleted,
        service_type=service_type,
        agent=agent,
        team=team,
        project=project,
        domain=domain,
        selector=selector,
        q=search,
        sort=sort,
    )
    get.list_of(RESOURCE, query, output, headers=not no_headers, limit=limit)


@resources.command("get")
@resources.command("show", hidden=True)
@resources.command("describe", hidden=True)
def get_resource(
    resource: _Id = "",
    *,
    state: resource_options.States = None,
    service_type: resource_options.ServiceType = "",
    agent: resource_options.Agent = "",
    team: options.Team = "",
    project: options.Project = "",
    domain: options.Domain = "",
    selector: options.Selector = "",
    show_deleted: resource_options.ShowDeleted = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """Show one resource; without an id, list them.

    \b
    cpctl resources get my-vm -o yaml
    cpctl resources get --state running
    """
    if resource:
        item = get.find(SESSION.api(), RESOURCE, resource)
        if output.is_whole:
            return say(*document(item, output))
        return get.show(RESOURCE, [item], output, headers=not no_headers)
    query = resource_options.query(
        state,
        show_deleted=show_deleted,
        service_type=service_type,
        agent=agent,
        team=team,
        project=project,
        domain=domain,
        selector=selector,
    )
    return get.list_of(RESOURCE, query, output, headers=not no_headers, limit=limit)


@resources.command()
def apply(
    *,
    file: resource_options.Files,
    resource_id: Annotated[str, typer.Option("--id", help="Id of the resource, if the file has none.")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every resource is running.")] = False,
    timeout: options.Timeout = 300.0,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Request the resources of files, each a YAML or JSON document.

    A document with an id that already exists is left alone if it is the same. Resources cannot be changed.

    \b
    cpctl resources apply -f vm.yaml --id my-vm --yes
    cpctl resources apply -f vms/ --dry-run
    """
    change = options.ChangeOptions(message, dry_run, yes)
    until = time.monotonic() + timeout
    items = store(SESSION.api(), requests_in(file, resource_id), change)
    if wait and not dry_run:
        return _wait_for_all(items, Condition("state", "running"), until, output)
    return get.show(RESOURCE, items, output)


@resources.command("wait")
def wait_for_resource(
    resource: resource_options.Id,
    *,
    wanted: Annotated[str, typer.Option("--for", help="Condition FIELD=VALUE, such as state=running.")],
    timeout: options.Timeout = 300.0,
) -> None:
    """Wait until a resource has a state. Exits with 6 after the timeout.

    Exits with 1 if the resource cannot get there without another request, such as one that has failed.

    \b
    cpctl resources wait my-vm --for=state=running --timeout 600
    """
    awaited = condition(wanted)
    wait_for(SESSION.api(), resource, awaited, time.monotonic() + timeout)
    SESSION.tell(f"{resource}: {awaited}")


def _wait_for_all(items: list[Any], awaited: Condition, until: float, how: Format) -> None:
    """Print all resources as they are at the end, then report those that did not get there."""
    api, failures, ended = SESSION.api(), [], []
    for item in items:
        SESSION.tell(f"{item['id']}: {item['state']}")
        try:
            ended.append(wait_for(api, item["id"], awaited, until))
        except CpctlError as error:
            failures.append(error)
            ended.append(get.find(api, RESOURCE, item["id"]))
    get.show(RESOURCE, ended, how)
    resource_changes.raise_all(failures)
