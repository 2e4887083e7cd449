"""The commands `history`, `blame` and `rollback`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import field, timestamp
from cpctl.commands import options
from cpctl.commands.apply import confirm_plan
from cpctl.errors import UsageError
from cpctl.kinds import kind_named
from cpctl.output import Column, Format, Item, say
from cpctl.page_output import chunks, print_pages
from cpctl.paths import segment
from cpctl.plans import confirmation, difference_lines
from cpctl.session import SESSION

MaybeType = Annotated[str, typer.Argument(metavar="[TYPE]", autocompletion=completion.types)]
# The manager of changes by hand.
_HAND = "api"


def _place(item: Item) -> str:
    """Return file, line and commit such as `teams/ml.yaml:12@4f1c2ab`; empty for changes by the API."""
    place, commit = item.get("declared_in") or "", item.get("commit") or ""
    return f"{place}@{commit[:7]}" if place and commit else place


def _managers(item: Item) -> str:
    """Return who manages the value; changes by hand reserve none."""
    return ",".join(name for name in item.get("managers") or () if name != _HAND)


_VERSIONS = (
    field("VERSION"),
    field("REVISION"),
    timestamp("CHANGED AT", "changed_at"),
    field("CHANGED BY", "changed_by"),
    field("MESSAGE", "change_message"),
    field("TICKET", wide=True),
    Column("FILE", _place, True),
    field("VALUES", "attributes", wide=True),
)
_BLAME = (
    field("POINTER"),
    field("VALUE"),
    Column("MANAGERS", _managers),
    field("VERSION"),
    timestamp("CHANGED AT", "changed_at"),
    field("CHANGED BY", "changed_by"),
    Column("FILE", _place),
    field("MESSAGE", "change_message"),
    field("TICKET", wide=True),
)


def history(
    *,
    resource_type: MaybeType = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries.")] = 50,
    diff: Annotated[str, typer.Option(help="Compare two versions, such as 1..3.")] = "",
    output: options.Output = Format.TABLE,
) -> None:
    """List the versions of an override, or all revisions.

    \b
    cpctl history task_resource -p flytesnacks -d development
    cpctl history task_resource -p flytesnacks -d development --diff 1..3
    cpctl history --limit 10
    """
    api = SESSION.api()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    if not resource_type:
        if scope or diff:
            raise UsageError("Specify a resource type.", hint="cpctl get resource-types")
        kind = kind_named("revisions")
        return _show(kind.columns, api.pages(kind.path, most=limit), output, "revision")
    path = f"overrides/{segment(resource_type)}/versions"
    if diff:
        return _compare(path, scope, diff)
    return _show(_VERSIONS, api.pages(path, scope, most=limit), output, "version")


def blame(
    *,
    resource_type: options.TypeName,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    as_of: options.AsOf = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Show who last changed each value of an override, and when.

    \b
    cpctl blame task_resource -p flytesnacks -d development
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    answer = SESSION.api().get(f"overrides/{segment(resource_type)}/blame", {**scope, "as_of": as_of})
    _show(_BLAME, [answer.json()["items"]], output, "pointer")


def rollback(
    *,
    resource_type: MaybeType = "",
    to_version: Annotated[int | None, typer.Option(min=1, help="Version of one override.")] = None,
    to_revision: Annotated[
        int | None, typer.Option(min=0, help="Revision of a scope and all scopes below it.")
    ] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: options.Manager = "",
    force: options.Force = False,
    message: options.Message = "",
    ticket: options.Ticket = "",
    dry_run: options.DryRun = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Roll back to a version or revision. This creates a new version and keeps the history.

    \b
    cpctl rollback task_resource --to-version 3 -p flytesnacks -d development
    cpctl rollback --to-revision 12 -p flytesnacks
    """
    path, body = _target(resource_type, to_version, to_revision)
    scope = options.scope_of((project, domain, workflow, launch_plan))
    query = options.WriteOptions(
        message, manager, force, confirm, override_freeze, approval_override, ticket
    ).query(**scope)
    if restore(path, body, query, "Roll back?", output, yes=yes, dry_run=dry_run):
        SESSION.tell("Rolled back.")


def restore(
    path: str,
    body: Any,
    query: dict[str, Any],
    question: str,
    output: Format,
    *,
    yes: bool,
    dry_run: bool,
) -> bool:
    """Show the plan of a request, ask, and send it. Return whether it was sent."""
    api = SESSION.api()
    plan = api.post(path, body, query={**query, "dry_run": True}).json()
    if not confirm_plan(plan, question, output, yes=yes or dry_run) or dry_run:
        return False
    if not yes:
        query = {**query, "confirm": confirmation(plan)}
    api.post(path, body, query=query)
    return True


def _target(resource_type: str, version: int | None, revision: int | None) -> tuple[str, dict[str, Any]]:
    """Return path and body of the rollback. Raises UsageError for contradictory options."""
    if (version is None) == (revision is None):
        raise UsageError("Specify either --to-version or --to-revision.", hint="cpctl history")
    if revision is not None:
        only = {"resource_type": resource_type} if resource_type else {}
        return "overrides:rollback", {"to_revision": revision, **only}
    if not resource_type:
        raise UsageError("--to-version requires a resource type.")
    return f"overrides/{segment(resource_type)}:rollback", {"to_version": version}


def _compare(path: str, scope: dict[str, str], versions: str) -> None:
    first, _, second = versions.partition("..")
    if not (first.isdecimal() and second.isdecimal()):
        raise UsageError("Specify two versions as in 1..3.")
    answer = SESSION.api().get(f"{path}/{first}/diff/{second}", scope).json()
    for line in difference_lines(answer["differences"], SESSION.paint()):
        say(line)


def _show(columns: Any, pages: Iterable[list[Any]], how: Format, key: str) -> None:
    print_pages(chunks(columns, pages, how=how, name_of=lambda item: str(item[key])))
