"""The command `roles`: role bindings, and roles of the operators' own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.access_kinds import ROLE, ROLE_BINDING
from cpctl.commands import change_options, get, options
from cpctl.output import Format
from cpctl.scopes import scope_text
from cpctl.session import SESSION

roles = typer.Typer(help="Grant and revoke roles, and manage custom roles.", no_args_is_help=True)
RoleName = Annotated[str, typer.Argument(metavar="ROLE")]
Actions = Annotated[list[str], typer.Option("--action", help="Permission of the role. Repeatable.")]
_TEAM = "team:"


@roles.command("list")
def list_roles(
    *,
    principal: Annotated[str, typer.Option("--principal", help="Filter by principal.")] = "",
    team: Annotated[str, typer.Option(help="Filter by team that has the role.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List role bindings. `cpctl get roles` lists the roles themselves.

    \b
    cpctl roles list --principal ci-billing
    """
    query = change_options.non_empty(principal=principal, team=team)
    get.list_of(ROLE_BINDING, query, output, headers=not no_headers)


@roles.command("grant")
def grant_role(
    *,
    holder: Annotated[str, typer.Argument(metavar="NAME", help="Principal, or team:NAME.")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help="Role, such as viewer, editor or admin.")],
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    owned_by: Annotated[str, typer.Option(help="Limit the role to objects of this team.")] = "",
    expires_at: Annotated[str, typer.Option(help="End of the role: an RFC 3339 time. Default: never.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Grant a principal or a team a role at a scope and below it.

    \b
    cpctl roles grant ci-billing editor -p billing -d production
    cpctl roles grant team:ml operator --owned-by ml
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    limit = f" for the team {owned_by}" if owned_by else ""
    question = f"Grant {holder} the role {role} at {scope_text(scope)}{limit}?"
    body: dict[str, Any] = {**_holder(holder), "role": role, "scope": scope}
    body |= change_options.non_empty(owned_by=owned_by, expires_at=expires_at)
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(ROLE_BINDING, body, change, output, question=question)


@roles.command("revoke")
def revoke_role(
    binding: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """Revoke a role by the id of its binding.

    \b
    cpctl roles revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions("", dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(ROLE_BINDING, binding),
        f"the role binding {binding}",
        change,
        verb="Revoke",
        done="revoked",
    )


@roles.command("create")
def create_role(
    role: RoleName,
    *,
    action: Actions,
    title: Annotated[str, typer.Option(help="Title of the role.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a custom role from permissions that you have.

    \b
    cpctl roles create agent-janitor --action agent.read --action agent.write
    """
    body = {"name": role, "title": title, "actions": action}
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(ROLE, body, change, output, question=f"Create the role {role}?")


@roles.command("update")
def update_role(
    role: RoleName,
    *,
    action: Actions,
    title: Annotated[str | None, typer.Option(help="New title. Default: unchanged.")] = None,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Replace the permissions of a custom role, for everybody who has it.

    \b
    cpctl roles update agent-janitor --action agent.read
    """
    path = change_options.path_of(ROLE, role)
    answer = SESSION.api().get(path)
    body = {"title": answer.json()["title"] if title is None else title, "actions": action}
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"Change the role {role} for everybody who has it?")
    headers = {"If-Match": answer.etag}
    changed = SESSION.api().send("PUT", path, body, query=change.query(), headers=headers)
    get.show(ROLE, [changed.json()], output)


@roles.command("delete")
def delete_role(role: RoleName, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Delete a custom role that nobody has.

    \b
    cpctl roles delete agent-janitor
    """
    change = options.ChangeOptions("", dry_run, yes)
    change_options.delete(change_options.path_of(ROLE, role), f"the role {role}", change)


def _holder(name: str) -> dict[str, str]:
    return {"team": name.removeprefix(_TEAM)} if name.startswith(_TEAM) else {"principal": name}
