"""`resource-types`, `guard-rails` and `overrides`: what may be set, and what is."""

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

resource_types = typer.Typer(help="Resource types: create, update, delete.", no_args_is_help=True)
guard_rails = typer.Typer(help="Guard rails: set, delete.", no_args_is_help=True)
overrides = typer.Typer(help="Overrides: delete, compare, and where they come from.", no_args_is_help=True)
Rail = Annotated[str, typer.Argument(metavar="NAME")]


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
    """Create a resource type, as the file describes it.

    \b
    cpctl resource-types create -f workflow-priority.yaml
    """
    body = change_options.object_in(file)
    terms = options.Decision(message, dry_run, yes)
    question = f"Create the resource type {body.get('name', '')}?"
    kind = kind_named("resource-types")
    planned_changes.create(kind, body, terms, output, confirm=confirm, question=question)


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
    """Set a resource type to what the file describes. What is stored must still fit.

    \b
    cpctl resource-types update workflow_priority -f workflow-priority.yaml
    """
    terms = options.Decision(message, dry_run, yes)
    body = change_options.object_in(file)
    planned_changes.put(kind_named("resource-types"), name, body, terms, output, confirm=confirm)


@resource_types.command("delete")
def delete_type(
    name: options.TypeName,
    *,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a resource type that nothing uses.

    \b
    cpctl resource-types delete workflow_priority
    """
    terms = options.Decision(message, dry_run, yes)
    planned_changes.delete(change_options.place_of(kind_named("resource-types"), name), name, terms, confirm)


@guard_rails.command("set")
def set_rail(
    name: Rail,
    *,
    file: change_options.File,
    accept_existing: Annotated[
        bool, typer.Option("--accept-existing", help="Even if overrides break it already.")
    ] = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Set a guard rail to what the file describes.

    \b
    cpctl guard-rails set cpu-cap -f cpu-cap.yaml
    """
    body = {"name": name, **change_options.object_in(file)}
    terms = options.Decision(message, dry_run, yes)
    more = {"accept_existing": accept_existing, "confirm": confirm}
    planned_changes.put(kind_named("guard-rails"), name, body, terms, output, **more)


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
    terms = options.Decision(message, dry_run, yes)
    planned_changes.delete(change_options.place_of(kind_named("guard-rails"), name), name, terms, confirm)


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
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete an override, so that its values are inherited again.

    \b
    cpctl overrides delete task_resource -p billing -d production
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    api = SESSION.api()
    path = change_options.place_of(kind_named("overrides"), resource_type)
    etag = api.get(path, scope).etag
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Delete {resource_type} at {scope_text(scope)}?")
    query = options.Terms(message, manager, force, confirm).query(dry_run=dry_run, **scope)
    api.send("DELETE", path, query=query, headers={"If-Match": etag})
    terms.tell(f"{resource_type} at {scope_text(scope)} is deleted.")


@overrides.command("compare")
def compare_revisions(
    *,
    first: Annotated[int, typer.Option("--from", min=0, help="The earlier revision; 0: the beginning.")],
    second: Annotated[int | None, typer.Option("--to", help="The later one; else now.")] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Show what differs between two revisions, in values. Exits 1 if something does.

    \b
    cpctl overrides compare --from 2 --to 12 -p flytesnacks
    """
    query = {**options.scope_of((project, domain, "", "")), "from": str(first), "to": second}
    found = list(SESSION.api().items("overrides/diff", query))
    say(*(document({"items": found}, output) if output.is_whole else _differences(found)))
    if found:
        raise typer.Exit(Exit.DIFFERS)


@overrides.command("source")
def show_source(*, output: options.Output = Format.YAML) -> None:
    """Show where overrides come from, and what is wrong there.

    \b
    cpctl overrides source
    """
    found = SESSION.api().get("overrides/source").json()
    say(*document(found, output if output.is_whole else Format.YAML))


@overrides.command("confirm")
def confirm_source(
    *,
    digest: Annotated[str, typer.Option(help="Of the files that you looked at.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Confirm files that remove many overrides.

    \b
    cpctl overrides confirm
    """
    api = SESSION.api()
    pending = api.get("overrides/source").json()["pending"]
    if not pending:
        raise UsageError("Nothing waits to be confirmed.", hint="cpctl overrides source")
    SESSION.tell(document(pending, Format.YAML)[0])
    terms = options.Decision("", dry_run, yes)
    terms.ask("Let this take effect?")
    body = {"digest": digest or pending["digest"]}
    api.post("overrides/source:confirm", body, query=terms.query())
    terms.tell("It takes effect.")


def _differences(found: list[Any]) -> list[str]:
    told = []
    for one in found:
        told.append(f"{one['resource_type']} {scope_text(one['scope'])}")
        told += difference_lines(one["differences"], SESSION.paint())
    return told
