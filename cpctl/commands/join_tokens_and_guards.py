"""The commands `agents guards` and `agents join-tokens`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cpctl.agent_kinds import FLEET_GUARD, JOIN_TOKEN
from cpctl.commands import change_options, get, options
from cpctl.output import Format, counted
from cpctl.session import SESSION

guards = typer.Typer(
    help="Manage fleet guards, which prevent marking many agents unavailable at once.", no_args_is_help=True
)
join_tokens = typer.Typer(
    help="Manage join tokens, with which agents register themselves.", no_args_is_help=True
)


LeaseSeconds = Annotated[
    int | None,
    typer.Argument(
        metavar="[SECONDS]", min=1, help="Lease of at least three intervals. Omit it to unset the lease."
    ),
]


class Ruling(StrEnum):
    ENGAGE = "engage"
    LIFT = "lift"
    NONE = "none"


@guards.command("list")
def list_guards(
    *,
    engaged: Annotated[bool, typer.Option("--engaged", help="Only engaged guards.")] = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List fleet guards: one for each environment, and one for the fleet.

    \b
    cpctl agents guards list --engaged
    """
    get.list_of(FLEET_GUARD, {"engaged": engaged}, output, headers=not no_headers)


@guards.command()
def overrule(
    ruling: Annotated[Ruling, typer.Argument(help="engage, lift, or none for the automatic decision.")],
    environment: Annotated[
        str, typer.Argument(metavar="[ENVIRONMENT]", help="Default: the whole fleet.")
    ] = "",
    *,
    seconds: Annotated[int, typer.Option(min=1, help="Duration in seconds.")] = 900,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Override the decision of a fleet guard for a limited time.

    \b
    cpctl agents guards overrule lift prod-eu-west-1
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Set the guard of {environment or 'the fleet'} to {ruling}?")
    body = {"environment": environment, "ruling": ruling, "seconds": seconds}
    done = SESSION.api().post("fleet-guards:overrule", body, query=change.query()).json()
    get.show(FLEET_GUARD, [done], output)


@join_tokens.command("list")
def list_join_tokens(
    *,
    team: options.Team = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List join tokens, without their secrets.

    \b
    cpctl agents join-tokens list
    """
    get.list_of(JOIN_TOKEN, {"team": team}, output, headers=not no_headers)


@join_tokens.command("create")
def create_join_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the join token.")],
    *,
    name_pattern: Annotated[str, typer.Option(help="Pattern for agent names, such as 'prod-eu-*'.")],
    environment: Annotated[str, typer.Option(help="Environment of the agents.")] = "",
    service_type: Annotated[list[str] | None, typer.Option(help="Allowed service type. Repeatable.")] = None,
    uses: Annotated[int, typer.Option(min=1, help="Number of uses.")] = 1,
    seconds: Annotated[int, typer.Option("--expires-in", min=60, help="Seconds until it expires.")] = 3600,
    needs_approval: Annotated[
        bool, typer.Option("--needs-approval", help="Agents wait for approval.")
    ] = False,
    may_take_over: Annotated[
        bool, typer.Option("--may-take-over", help="Allow agents to take over existing names.")
    ] = False,
    team: Annotated[str, typer.Option(help="Team that owns the token and its agents.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a join token and print it. It is shown only once.

    \b
    cpctl agents join-tokens create "eu fleet" --name-pattern "eu-*" --uses 10 --yes > join.token
    """
    change = options.ChangeOptions("", dry_run, yes)
    body = {
        **{"name": name, "name_pattern": name_pattern, "environment": environment, "uses": uses},
        **{"expires_in_seconds": seconds, "service_types": service_type or []},
        **{"needs_approval": needs_approval, "may_take_over": may_take_over},
        **({"team": team} if team else {}),
    }
    question = f"Create a join token for {counted(uses, 'agent')} named {name_pattern}?"
    change_options.create_secret(JOIN_TOKEN, body, change, output, question=question)


@join_tokens.command("revoke")
def revoke_join_token(
    token: Annotated[str, typer.Argument(metavar="ID")],
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Revoke a join token. Agents that joined with it stay registered.

    \b
    cpctl agents join-tokens revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(JOIN_TOKEN, token),
        f"the join token {token}",
        change,
        verb="Revoke",
        done="revoked",
    )
