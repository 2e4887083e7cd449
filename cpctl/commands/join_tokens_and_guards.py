"""`agents guards` and `agents join-tokens`: the fleet as a whole, and who may come in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cpctl.agent_kinds import FLEET_GUARD, JOIN_TOKEN
from cpctl.commands import change_options, get, options
from cpctl.output import Format
from cpctl.session import SESSION

guards = typer.Typer(
    help="Fleet guards: what stops a mass of agents from being given up.", no_args_is_help=True
)
join_tokens = typer.Typer(help="Join tokens: what lets agents in.", no_args_is_help=True)


LeaseSeconds = Annotated[
    int | None, typer.Argument(metavar="[SECONDS]", min=1, help="Three intervals or more; none: unset it.")
]


class Ruling(StrEnum):
    ENGAGE = "engage"
    LIFT = "lift"
    NONE = "none"


@guards.command("list")
def list_guards(
    *,
    engaged: Annotated[bool, typer.Option("--engaged", help="Only those that hold.")] = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the guards, one for each environment and one for the fleet.

    \b
    cpctl agents guards list --engaged
    """
    get.list_of(FLEET_GUARD, {"engaged": engaged}, output, headers=not no_headers)


@guards.command()
def overrule(
    ruling: Annotated[Ruling, typer.Argument(help="engage, lift, or none to let it judge again.")],
    environment: Annotated[str, typer.Argument(metavar="[ENVIRONMENT]", help="None: the fleet.")] = "",
    *,
    seconds: Annotated[int, typer.Option(min=1, help="How long.")] = 900,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Decide in a guard's place, for a while.

    \b
    cpctl agents guards overrule lift prod-eu-west-1
    """
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Overrule the guard of {environment or 'the fleet'}: {ruling}?")
    body = {"environment": environment, "ruling": ruling, "seconds": seconds}
    done = SESSION.api().post("fleet-guards:overrule", body, query=terms.query()).json()
    get.show(FLEET_GUARD, [done], output)


@join_tokens.command("list")
def list_join_tokens(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List join tokens; never their secrets.

    \b
    cpctl agents join-tokens list
    """
    get.list_of(JOIN_TOKEN, {}, output, headers=not no_headers)


@join_tokens.command("create")
def create_join_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    *,
    name_pattern: Annotated[str, typer.Option(help="Whom it admits, such as 'prod-eu-*'.")],
    environment: Annotated[str, typer.Option(help="Only agents of this environment.")] = "",
    service_type: Annotated[list[str] | None, typer.Option(help="Only these services; repeat it.")] = None,
    uses: Annotated[int, typer.Option(min=1, help="How often.")] = 1,
    seconds: Annotated[int, typer.Option("--expires-in", min=60, help="Seconds until it ends.")] = 3600,
    needs_approval: Annotated[bool, typer.Option("--needs-approval", help="Agents wait for it.")] = False,
    may_take_over: Annotated[bool, typer.Option("--may-take-over", help="Take names that exist.")] = False,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Make a join token, and print it. It is shown once.

    \b
    cpctl agents join-tokens create "eu fleet" --name-pattern "eu-*" --uses 10 --yes > join.token
    """
    terms = options.Decision("", dry_run, yes)
    body = {
        **{"name": name, "name_pattern": name_pattern, "environment": environment, "uses": uses},
        **{"expires_in_seconds": seconds, "service_types": service_type or []},
        **{"needs_approval": needs_approval, "may_take_over": may_take_over},
    }
    asked = f"Let agents in that are called {name_pattern}, {uses} times?"
    change_options.create_secret(JOIN_TOKEN, body, terms, output, asked=asked)


@join_tokens.command("revoke")
def revoke_join_token(
    token: Annotated[str, typer.Argument(metavar="ID")],
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Let nobody in with it any more. Agents that came stay.

    \b
    cpctl agents join-tokens revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision(message, dry_run, yes)
    change_options.take_back(change_options.place_of(JOIN_TOKEN, token), f"the join token {token}", terms)
