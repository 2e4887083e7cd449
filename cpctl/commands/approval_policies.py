"""The command `approval-policies`: how many approvals changes of overrides need."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.kinds import kind_named
from cpctl.output import Format, counted
from cpctl.scopes import scope_text
from cpctl.session import SESSION

approval_policies = typer.Typer(help="Require approvals for changes of overrides.", no_args_is_help=True)
KIND = kind_named("approval-policies")
Approvals = Annotated[int, typer.Option("--approvals", min=1, max=5, help="How many others must approve.")]
Reason = Annotated[str, typer.Option("--reason", help="Why approvals are needed.")]


@approval_policies.command("list")
def list_policies(*, output: options.Output = Format.TABLE) -> None:
    """List approval policies.

    \b
    cpctl approval-policies list
    """
    get.show(KIND, list(SESSION.api().items(KIND.path)), output)


@approval_policies.command("create")
def create(
    *,
    approvals: Approvals = 1,
    reason: Reason = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Require approvals for changes at and below a scope.

    \b
    cpctl approval-policies create -p flytesnacks -d production --approvals 2
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    body = {"scope": scope, "approvals": approvals, **change_options.non_empty(reason=reason)}
    change = options.ChangeOptions(message, dry_run, yes)
    question = f"Require {counted(approvals, 'approval')} for changes at {scope_text(scope)}?"
    change_options.create(KIND, body, change, output, question=question)


@approval_policies.command("change")
def change_policy(
    policy: change_options.Id,
    *,
    approvals: Annotated[int | None, typer.Option("--approvals", min=1, max=5, help="New number.")] = None,
    reason: Reason = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Change the number of approvals or the reason.

    \b
    cpctl approval-policies change 019a9f5e-7c00-7000-8000-000000000031 --approvals 3
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Change the approval policy {policy}?")
    body = change_options.non_empty(approvals=approvals, reason=reason)
    path = change_options.path_of(KIND, policy)
    get.show(KIND, [SESSION.api().send("PATCH", path, body, query=change.query()).json()], output)


@approval_policies.command("delete")
def delete(
    policy: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a policy, so that overrides may change without approvals.

    \b
    cpctl approval-policies delete 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(KIND, policy), f"approval policy {policy}", change)
