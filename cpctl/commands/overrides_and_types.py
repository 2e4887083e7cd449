"""The commands `resource-types`, `guard-rails` and `overrides`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, options, planned_changes
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.kinds import kind_named
from cpctl.output import Format, document, say
from cpctl.plans import difference_lines
from cpctl.scopes import scope_text
from cpctl.session import SESSION

resource_types = typer.Typer(help="Create, update, delete and restore resource types.", no_args_is_help=True)
guard_rails = typer.Typer(help="Set, delete and restore guard rails.", no_args_is_help=True)
overrides = typer.Typer(help="Delete and compare overrides, and manage their source.", no_args_is_help=True)
Rail = Annotated[str, typer.Argument(metavar="NAME")]
AcceptExisting = Annotated[bool, typer.Option("--accept-existing", help="Allow overrides that violate it.")]


@resource_types.command("create")
def create_type(
    *,
    file: change_options.File,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a resource type from a file.

    \b
    cpctl resource-types create -f workflow-priority.yaml
    """
    body = change_options.object_in(file)
    change = options.ChangeOptions(message, dry_run, yes)
    question = f"Create the resource type {body.get('name', '')}?"
    kind = kind_named("resource-types")
    planned_changes.create(kind, body, change, output, confirm=confirm, question=question)


@resource_types.command("update")
def update_type(
    name: options.TypeName,
    *,
    file: change_options.File,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Replace a resource type by the one in a file. Stored values must stay valid.

    \b
    cpctl resource-types update workflow_priority -f workflow-priority.yaml
    """
    change = options.ChangeOptions(message, dry_run, yes)
    body = change_options.object_in(file)
    planned_changes.put(kind_named("resource-types"), name, body, change, output, confirm=confirm)


@resource_types.command("delete")
def delete_type(
    name: options.TypeName,
    *,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete an unused resource type.

    \b
    cpctl resource-types delete workflow_priority
    """
    change = options.ChangeOptions(message, dry_run, yes)
    planned_changes.delete(change_options.path_of(kind_named("resource-types"), name), name, change, confirm)


@resource_types.command("undelete")
def undelete_type(
    name: options.TypeName,
    *,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Restore a deleted resource type.

    \b
    cpctl resource-types undelete workflow_priority
    """
    change = options.ChangeOptions(message, dry_run, yes)
    planned_changes.undelete(kind_named("resource-types"), name, change, output, confirm=confirm)


@guard_rails.command("set")
def set_rail(
    name: Rail,
    *,
    file: change_options.File,
    accept_existing: AcceptExisting = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create or replace a guard rail from a file.

    \b
    cpctl guard-rails set cpu-cap -f cpu-cap.yaml
    """
    body = {"name": name, **change_options.object_in(file)}
    change = options.ChangeOptions(message, dry_run, yes)
    more = {"accept_existing": accept_existing, "confirm": confirm}
    planned_changes.put(kind_named("guard-rails"), name, body, change, output, **more)


@guard_rails.command("delete")
def delete_rail(
    name: Rail,
    *,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a guard rail.

    \b
    cpctl guard-rails delete cpu-cap
    """
    change = options.ChangeOptions(message, dry_run, yes)
    planned_changes.delete(change_options.path_of(kind_named("guard-rails"), name), name, change, confirm)


@guard_rails.command("undelete")
def undelete_rail(
    name: Rail,
    *,
    accept_existing: AcceptExisting = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Restore a deleted guard rail.

    \b
    cpctl guard-rails undelete cpu-cap
    """
    more = {"accept_existing": accept_existing, "confirm": confirm}
    change = options.ChangeOptions(message, dry_run, yes)
    planned_changes.undelete(kind_named("guard-rails"), name, change, output, **more)


@overrides.command("delete")
def delete_override(
    *,
    resource_type: options.TypeName,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: options.Manager = "",
    force: options.Force = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    ticket: options.Ticket = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete an override, so that its values are inherited again.

    \b
    cpctl overrides delete task_resource -p billing -d production
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    api = SESSION.api()
    path = change_options.path_of(kind_named("overrides"), resource_type)
    etag = api.get(path, scope).etag
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Delete {resource_type} at {scope_text(scope)}?")
    query = options.WriteOptions(
        message, manager, force, confirm, override_freeze, approval_override, ticket
    ).query(dry_run=dry_run, **scope)
    api.send("DELETE", path, query=query, headers={"If-Match": etag})
    change.tell(f"{resource_type} at {scope_text(scope)} deleted.")


@overrides.command("undelete")
def undelete_override(
    *,
    resource_type: options.TypeName,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: options.Manager = "",
    force: options.Force = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    ticket: options.Ticket = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Restore a deleted override, after showing the plan and asking for confirmation.

    \b
    cpctl overrides undelete task_resource -p billing -d production
    """
    from cpctl.commands.history import restore

    scope = options.scope_of((project, domain, workflow, launch_plan))
    path = f"{change_options.path_of(kind_named('overrides'), resource_type)}:undelete"
    query = options.WriteOptions(
        message, manager, force, confirm, override_freeze, approval_override, ticket
    ).query(**scope)
    if restore(path, None, query, "Restore?", output, yes=yes, dry_run=dry_run):
        SESSION.tell(f"{resource_type} at {scope_text(scope)} restored.")


@overrides.command("compare")
def compare_revisions(
    *,
    first: Annotated[int, typer.Option("--from", min=0, help="Earlier revision; 0 for the beginning.")],
    second: Annotated[int | None, typer.Option("--to", help="Later revision. Default: now.")] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Show the values that differ between two revisions. Exits with 1 if there are differences.

    \b
    cpctl overrides compare --from 2 --to 12 -p flytesnacks
    """
    query = {**options.scope_of((project, domain, "", "")), "from": str(first), "to": second}
    changes = list(SESSION.api().items("overrides/diff", query))
    say(*(document({"items": changes}, output) if output.is_whole else _differences(changes)))
    if changes:
        raise typer.Exit(Exit.DIFFERS)


@overrides.command("source")
def show_source(*, output: options.Output = Format.YAML) -> None:
    """Show the source of overrides and its errors.

    \b
    cpctl overrides source
    """
    source = SESSION.api().get("overrides/source").json()
    say(*document(source, output if output.is_whole else Format.YAML))


@overrides.command("confirm")
def confirm_source(
    *,
    digest: Annotated[str, typer.Option(help="Digest of the reviewed files.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Confirm the removal of many overrides from files.

    \b
    cpctl overrides confirm
    """
    api = SESSION.api()
    pending = api.get("overrides/source").json()["pending"]
    if not pending:
        raise UsageError("No change is waiting for confirmation.", hint="cpctl overrides source")
    SESSION.tell(document(pending, Format.YAML)[0])
    change = options.ChangeOptions("", dry_run, yes)
    change.ask("Apply this change?")
    body = {"digest": digest or pending["digest"]}
    api.post("overrides/source:confirm", body, query=change.query())
    change.tell("Change confirmed.")


def _differences(changes: list[Any]) -> list[str]:
    lines = []
    for override in changes:
        lines.append(f"{override['resource_type']} {scope_text(override['scope'])}")
        lines += difference_lines(override["differences"], SESSION.paint())
    return lines
