"""`history`, `blame` and `rollback`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import field, moment
from cpctl.commands import options
from cpctl.commands.apply import go_on
from cpctl.errors import UsageError
from cpctl.kinds import kind_named
from cpctl.output import Format, say
from cpctl.page_output import chunks, print_pages
from cpctl.paths import segment
from cpctl.plans import confirmation, difference_lines
from cpctl.session import SESSION

MaybeType = Annotated[str, typer.Argument(metavar="[TYPE]", autocompletion=completion.types)]
_VERSIONS = (
    field("VERSION"),
    field("REVISION"),
    moment("CHANGED AT", "changed_at"),
    field("CHANGED BY", "changed_by"),
    field("MESSAGE", "change_message"),
    field("VALUES", "attributes", wide=True),
)
_BLAME = (
    field("POINTER"),
    field("VALUE"),
    field("VERSION"),
    moment("CHANGED AT", "changed_at"),
    field("CHANGED BY", "changed_by"),
    field("MESSAGE", "change_message"),
)


def history(
    *,
    resource_type: MaybeType = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    diff: Annotated[str, typer.Option(help="Compare two versions, such as 1..3.")] = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Show the versions of one override, or all revisions.

    \b
    cpctl history task_resource -p flytesnacks -d development
    cpctl history task_resource -p flytesnacks -d development --diff 1..3
    cpctl history --limit 10
    """
    api = SESSION.api()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    if not resource_type:
        if scope or diff:
            raise UsageError("Say which resource type.", hint="cpctl get resource-types")
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
    """Show who set each value of an override, and since when.

    \b
    cpctl blame task_resource -p flytesnacks -d development
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    answer = SESSION.api().get(f"overrides/{segment(resource_type)}/blame", {**scope, "as_of": as_of})
    _show(_BLAME, [answer.json()["items"]], output, "pointer")


def rollback(
    *,
    resource_type: MaybeType = "",
    to_version: Annotated[int | None, typer.Option(min=1, help="Of one override: its version.")] = None,
    to_revision: Annotated[int | None, typer.Option(min=0, help="Of a scope and all below it.")] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: options.Manager = "",
    force: options.Force = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    confirm: options.Confirm = "",
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Go back to a version or a revision. It becomes a new one, and history stays.

    \b
    cpctl rollback task_resource --to-version 3 -p flytesnacks -d development
    cpctl rollback --to-revision 12 -p flytesnacks
    """
    path, body = _target(resource_type, to_version, to_revision)
    scope = options.scope_of((project, domain, workflow, launch_plan))
    query = options.Terms(message, manager, force, confirm).query(**scope)
    api = SESSION.api()
    plan = api.post(path, body, query={**query, "dry_run": True}).json()
    if not go_on(plan, "Roll back?", output, yes=yes or dry_run) or dry_run:
        return
    if not yes:
        query["confirm"] = confirmation(plan)
    api.post(path, body, query=query)
    SESSION.tell("Rolled back.")


def _target(resource_type: str, version: int | None, revision: int | None) -> tuple[str, dict[str, Any]]:
    """The path and body of what was asked for. Raises UsageError where that is unclear."""
    if (version is None) == (revision is None):
        raise UsageError("Say either --to-version or --to-revision.", hint="cpctl history")
    if revision is not None:
        only = {"resource_type": resource_type} if resource_type else {}
        return "overrides:rollback", {"to_revision": revision, **only}
    if not resource_type:
        raise UsageError("A version belongs to one resource type: name it.")
    return f"overrides/{segment(resource_type)}:rollback", {"to_version": version}


def _compare(path: str, scope: dict[str, str], said: str) -> None:
    first, _, second = said.partition("..")
    if not (first.isdecimal() and second.isdecimal()):
        raise UsageError("Two versions are written so: 1..3.")
    answer = SESSION.api().get(f"{path}/{first}/diff/{second}", scope).json()
    for line in difference_lines(answer["differences"], SESSION.paint()):
        say(line)


def _show(columns: Any, pages: Iterable[list[Any]], how: Format, key: str) -> None:
    print_pages(chunks(columns, pages, how=how, name_of=lambda item: str(item[key])))
