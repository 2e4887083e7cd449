"""The command `teams`: teams and their members."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.access_kinds import MEMBER, TEAM
from cpctl.commands import change_options, get, options
from cpctl.output import Format
from cpctl.paths import segment
from cpctl.session import SESSION

teams = typer.Typer(help="Manage teams and their members.", no_args_is_help=True)
TeamName = Annotated[str, typer.Argument(metavar="TEAM")]
PrincipalName = Annotated[str, typer.Argument(metavar="PRINCIPAL")]
Title = Annotated[str, typer.Option(help="Title of the team.")]


@teams.command("list")
def list_teams(
    *,
    member: Annotated[str, typer.Option(help="Filter by member.")] = "",
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List your teams, those that you have a role for, and those that you administer.

    \b
    cpctl teams list --member ada
    """
    query = change_options.non_empty(member=member, q=search, sort=sort)
    get.list_of(TEAM, query, output, headers=not no_headers)


@teams.command("show")
def show_team(team: TeamName, output: options.Output = Format.YAML) -> None:
    """Show a team.

    \b
    cpctl teams show ml
    """
    get.show(TEAM, [SESSION.api().get(change_options.path_of(TEAM, team)).json()], output)


@teams.command("create")
def create_team(
    team: TeamName,
    *,
    title: Title = "",
    group: Annotated[str, typer.Option(help="Group of the identity provider that the team mirrors.")] = "",
    organisation: Annotated[str, typer.Option(help="Organisation of the team.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a team, without members and roles.

    \b
    cpctl teams create billing --title "Billing"
    """
    body = change_options.non_empty(slug=team, title=title, external_group=group, organisation=organisation)
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(TEAM, body, change, output, question=f"Create the team {team}?")


@teams.command("update")
def update_team(
    team: TeamName,
    *,
    title: Annotated[str | None, typer.Option(help="New title. Default: unchanged.")] = None,
    group: Annotated[
        str | None,
        typer.Option(help="New group of the identity provider; empty for none. Default: unchanged."),
    ] = None,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Change the title or the mirrored group of a team.

    \b
    cpctl teams update ml --title "Machine learning"
    """
    path = change_options.path_of(TEAM, team)
    answer = SESSION.api().get(path)
    current = answer.json()
    body: dict[str, Any] = {
        "title": current["title"] if title is None else title,
        "external_group": current["external_group"] if group is None else group or None,
    }
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"Change the team {team}?")
    headers = {"If-Match": answer.etag}
    changed = SESSION.api().send("PUT", path, body, query=change.query(), headers=headers)
    get.show(TEAM, [changed.json()], output)


@teams.command("delete")
def delete_team(team: TeamName, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Delete a team with its memberships and roles. It must not own anything.

    \b
    cpctl teams delete billing
    """
    change = options.ChangeOptions("", dry_run, yes)
    change_options.delete(change_options.path_of(TEAM, team), f"the team {team}", change)


@teams.command("members")
def list_members(
    team: TeamName, *, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List the members of a team.

    \b
    cpctl teams members ml
    """
    pages = SESSION.api().pages(_members(team))
    get.show_pages(MEMBER, pages, output, headers=not no_headers)


@teams.command("add")
def add_member(
    team: TeamName,
    principal: PrincipalName,
    *,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Add a member to a team.

    \b
    cpctl teams add ml ada
    """
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"Add {principal} to the team {team}?")
    added = SESSION.api().send("PUT", f"{_members(team)}/{segment(principal)}", query=change.query())
    get.show(MEMBER, [added.json()], output)


@teams.command("remove")
def remove_member(
    team: TeamName,
    principal: PrincipalName,
    *,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Remove a member from a team.

    \b
    cpctl teams remove ml ada
    """
    change = options.ChangeOptions("", dry_run, yes)
    path = f"{_members(team)}/{segment(principal)}"
    change_options.delete_by_id(
        path, f"{principal} in the team {team}", change, verb="Remove", done="no longer a member"
    )


def _members(team: str) -> str:
    return f"{change_options.path_of(TEAM, team)}/members"
