"""The command `changes`: overrides that are set at a time, or expire."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.scopes import scope_text
from cpctl.session import SESSION

changes = typer.Typer(help="Schedule changes of overrides, and let changes expire.", no_args_is_help=True)
KIND = kind_named("override-changes")


@changes.command("list")
def list_changes(
    *,
    state: Annotated[str, typer.Option(help="scheduled, applied, reverted, cancelled or refused.")] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    output: options.Output = Format.TABLE,
) -> None:
    """List scheduled changes.

    \b
    cpctl changes list --state scheduled -p flytesnacks
    """
    query = {"state": state or None, "project": project or None, "domain": domain or None}
    get.show(KIND, list(SESSION.api().items(KIND.path, query)), output)


@changes.command("schedule")
def schedule(
    resource_type: options.TypeName,
    *,
    file: Annotated[
        str, typer.Option("-f", "--file", help="Attributes to merge, or - for standard input.")
    ] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the override.")] = False,
    at: Annotated[str, typer.Option(help="When to apply it, as an RFC 3339 time. Default: now.")] = "",
    until: Annotated[str, typer.Option(help="When to restore what it replaced. Default: never.")] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Change an override at a time, until a time, or both.

    \b
    cpctl changes schedule task_resource -p flytesnacks -f gpus.yaml --until 2030-11-29T18:00:00Z
    """
    if bool(file) == delete:
        raise UsageError("Specify either --file or --delete.")
    scope = options.scope_of((project, domain, workflow, launch_plan))
    what: dict[str, Any] = {"delete": True} if delete else {"patch": change_options.object_in(file)}
    times = change_options.non_empty(at=at, until=until, message=message)
    body = {"scope": scope, "resource_type": resource_type, **what, **times}
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(
        f"Change {resource_type} at {scope_text(scope)} from {at or 'now'} until {until or 'further notice'}?"
    )
    query = {
        **change.query(),
        "confirm": confirm,
        "override_freeze": override_freeze,
        "approval_override": approval_override,
    }
    get.show(KIND, [SESSION.api().post(KIND.path, body, query=query).json()], output)


@changes.command("cancel")
def cancel(
    change_id: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Cancel a scheduled change, or the end of one that is applied; then its values stay.

    \b
    cpctl changes cancel 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Cancel the change {change_id}?")
    path = f"{change_options.path_of(KIND, change_id)}:cancel"
    get.show(KIND, [SESSION.api().post(path, query=change.query()).json()], output)
