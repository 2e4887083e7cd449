"""The command `freezes`: times in which overrides may not change."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.scopes import scope_text
from cpctl.session import SESSION

freezes = typer.Typer(help="Declare, change and end freezes of overrides.", no_args_is_help=True)
KIND = kind_named("override-freezes")
From = Annotated[str, typer.Option("--from", help="Start, as an RFC 3339 time. Default: now.")]
Until = Annotated[str, typer.Option("--until", help="End, as an RFC 3339 time.")]
Reason = Annotated[str, typer.Option("--reason", help="Shown to those whose change is refused.")]


@freezes.command("list")
def list_freezes(
    *,
    state: Annotated[str, typer.Option(help="upcoming, active or ended.")] = "",
    output: options.Output = Format.TABLE,
) -> None:
    """List freezes.

    \b
    cpctl freezes list --state active
    """
    get.show(KIND, list(SESSION.api().items(KIND.path, {"state": state or None})), output)


@freezes.command("declare")
def declare(
    *,
    until: Until,
    reason: Reason,
    start: From = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Refuse changes of overrides at and below a scope until a time.

    \b
    cpctl freezes declare -p flytesnacks -d production --until 2030-11-30T08:00:00Z --reason "Black Friday"
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    body = {
        "scope": scope,
        "ends_at": until,
        "reason": reason,
        **change_options.non_empty(starts_at=start),
    }
    change = options.ChangeOptions("", dry_run, yes)
    question = f"Freeze overrides at {scope_text(scope)} until {until}?"
    change_options.create(KIND, body, change, output, question=question)


@freezes.command("change")
def change_freeze(
    freeze: change_options.Id,
    *,
    until: Until = "",
    reason: Reason = "",
    start: From = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Change the end, the reason, or a start that is to come.

    \b
    cpctl freezes change 019a9f5e-7c00-7000-8000-000000000031 --until 2030-12-01T08:00:00Z
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Change the freeze {freeze}?")
    body = change_options.non_empty(starts_at=start, ends_at=until, reason=reason)
    path = change_options.path_of(KIND, freeze)
    get.show(KIND, [SESSION.api().send("PATCH", path, body, query=change.query()).json()], output)


@freezes.command("end")
def end(
    freeze: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """End a freeze now, so that overrides may change again.

    \b
    cpctl freezes end 019a9f5e-7c00-7000-8000-000000000031 -m "Traffic is back to normal"
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"End the freeze {freeze}?")
    path = f"{change_options.path_of(KIND, freeze)}:end"
    get.show(KIND, [SESSION.api().post(path, query=change.query()).json()], output)
