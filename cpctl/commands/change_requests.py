"""The command `change-requests`: changes of overrides that others approve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.kinds import kind_named
from cpctl.output import Format, counted, document, say
from cpctl.plans import difference_lines
from cpctl.scopes import scope_text
from cpctl.session import SESSION

change_requests = typer.Typer(
    help="Request changes of overrides, approve and publish them.", no_args_is_help=True
)
KIND = kind_named("change-requests")
Comment = Annotated[str, typer.Option("--comment", help="Shown with the change request.")]


@change_requests.command("list")
def list_requests(
    *,
    state: Annotated[str, typer.Option(help="open, approved, rejected, published or withdrawn.")] = "",
    assigned: Annotated[bool, typer.Option("--assigned", help="Only those that wait for you.")] = False,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own.")] = False,
    project: options.Project = "",
    domain: options.Domain = "",
    output: options.Output = Format.TABLE,
) -> None:
    """List change requests.

    \b
    cpctl change-requests list --assigned
    cpctl change-requests list --mine --state approved
    """
    filters = change_options.non_empty(state=state, project=project, domain=domain)
    query = {**filters, "assigned": "me" if assigned else None, "mine": mine or None}
    get.show(KIND, list(SESSION.api().items(KIND.path, query)), output)


@change_requests.command("create")
def create(
    resource_type: options.TypeName,
    *,
    file: Annotated[
        str, typer.Option("-f", "--file", help="Attributes to merge, or - for standard input.")
    ] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace all attributes by the file.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the override.")] = False,
    ticket: Annotated[str, typer.Option("--ticket", help="Id or address of a ticket.")] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Request a change of an override, for others to approve.

    \b
    cpctl change-requests create task_resource -p flytesnacks -d production -f gpus.yaml -m Training
    """
    if bool(file) == delete or (replace and delete):
        raise UsageError("Specify either --file, with or without --replace, or --delete.")
    scope = options.scope_of((project, domain, workflow, launch_plan))
    way = "attributes" if replace else "patch"
    what: dict[str, Any] = {"delete": True} if delete else {way: change_options.object_in(file)}
    texts = change_options.non_empty(message=message, ticket=ticket)
    body = {"scope": scope, "resource_type": resource_type, **what, **texts}
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(
        KIND, body, change, output, question=f"Request a change of {resource_type} at {scope_text(scope)}?"
    )


@change_requests.command("show")
def show(request: change_options.Id, *, output: options.Output = Format.TABLE) -> None:
    """Show a change request with its plan, approvals and comments.

    \b
    cpctl change-requests show 019a9f5e-7c00-7000-8000-000000000031
    """
    _show(SESSION.api().get(change_options.path_of(KIND, request)).json(), output)


@change_requests.command("approve")
def approve(
    request: change_options.Id,
    *,
    digest: Annotated[
        str, typer.Option(help="Digest of the reviewed plan. Default: of the plan shown.")
    ] = "",
    comment: Comment = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Approve the plan of a change request, after showing it.

    \b
    cpctl change-requests approve 019a9f5e-7c00-7000-8000-000000000031 --comment "Fine"
    """
    request_now = SESSION.api().get(change_options.path_of(KIND, request)).json()
    if not output.is_whole:
        _show(request_now, output)
    body = {"digest": digest or request_now["digest"], **change_options.non_empty(comment=comment)}
    change = options.ChangeOptions("", dry_run, yes)
    change.ask("Approve this plan?")
    _send(_path(request, "approve"), body, change.query(), output)


@change_requests.command("reject")
def reject(
    request: change_options.Id,
    *,
    comment: Annotated[str, typer.Option("--comment", help="Why it is rejected.")],
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Reject a change request for good.

    \b
    cpctl change-requests reject 019a9f5e-7c00-7000-8000-000000000031 --comment "The quota has only 4"
    """
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"Reject the change request {request}?")
    _send(_path(request, "reject"), {"comment": comment}, change.query(), output)


@change_requests.command("comment")
def add_comment(
    request: change_options.Id,
    *,
    text: Annotated[str, typer.Option("--text", help="The comment.")],
    dry_run: options.DryRun = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Comment on a change request.

    \b
    cpctl change-requests comment 019a9f5e-7c00-7000-8000-000000000031 --text "For how long?"
    """
    path = f"{change_options.path_of(KIND, request)}/comments"
    query = options.ChangeOptions("", dry_run).query()
    _show(SESSION.api().post(path, {"text": text}, query=query).json(), output)


@change_requests.command("refresh")
def refresh(
    request: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Plan a change request again. If the plan is another one, its approvals fall.

    \b
    cpctl change-requests refresh 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Plan the change request {request} again?")
    _send(_path(request, "refresh"), None, change.query(), output)


@change_requests.command("withdraw")
def withdraw(
    request: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Withdraw a change request.

    \b
    cpctl change-requests withdraw 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Withdraw the change request {request}?")
    _send(_path(request, "withdraw"), None, change.query(), output)


@change_requests.command("publish")
def publish(
    request: change_options.Id,
    *,
    at: Annotated[str, typer.Option(help="When to apply it, as an RFC 3339 time. Default: now.")] = "",
    override_freeze: options.OverrideFreeze = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Make the approved change, now or at a time.

    \b
    cpctl change-requests publish 019a9f5e-7c00-7000-8000-000000000031 --at 2030-11-24T02:00:00Z
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Publish the change request {request}?")
    query = {**change.query(), "override_freeze": override_freeze}
    _send(_path(request, "publish"), change_options.non_empty(at=at), query, output)


def _send(path: str, body: Any, query: Mapping[str, Any], how: Format) -> None:
    get.show(KIND, [SESSION.api().post(path, body, query=query).json()], how)


def _path(request: str, verb: str) -> str:
    return f"{change_options.path_of(KIND, request)}:{verb}"


def _show(request: Any, how: Format) -> None:
    if how.is_whole:
        return say(*document(request, how))
    get.show(KIND, [request], how)
    return say(*_plan_lines(request))


def _plan_lines(request: Any) -> list[str]:
    paint, plan = SESSION.paint(), request["plan"]
    lines = ["", f"{plan['change']}:", *difference_lines(plan["differences"], paint)]
    lines += [f"Effective values change at {counted(plan['affected_scopes'], 'scope')}:"]
    for effect in plan["effective"]:
        lines += [f"  {scope_text(effect['scope'])}", *difference_lines(effect["differences"], paint)]
    for approval in request["approvals"]:
        lines.append(f"Approved by {approval['reviewer']}. {approval['comment']}".strip())
    lines += [f"{comment['author']}: {comment['text']}" for comment in request.get("comments") or []]
    return [*lines, f"Digest: {request['digest']}"]
