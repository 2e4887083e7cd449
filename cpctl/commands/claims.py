"""`agent-configs conflicts|claims|hand-over|release`: which team has which name."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.agent_kinds import CLAIM, CONFLICT
from cpctl.commands import get, options
from cpctl.output import Format
from cpctl.session import SESSION

ClaimKind = Annotated[str, typer.Argument(metavar="KIND", help="task_type or agent.")]
ClaimName = Annotated[str, typer.Argument(metavar="NAME", help="Such as acme_sensor.")]


def list_conflicts(
    *,
    team: options.Team = "",
    data_plane: options.DataPlane = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List who lost which name to whom.

    \b
    cpctl agent-configs conflicts --data-plane eu-1
    """
    query = {"team": team, "data_plane": data_plane}
    get.list_of(CONFLICT, query, output, headers=not no_headers)


def list_claims(
    *,
    team: options.Team = "",
    data_plane: options.DataPlane = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List who has which name.

    \b
    cpctl agent-configs claims --team acme
    """
    get.list_of(CLAIM, {"team": team, "data_plane": data_plane}, output, headers=not no_headers)


def hand_over(
    kind: ClaimKind,
    name: ClaimName,
    *,
    giver: Annotated[str, typer.Option("--from", help="The team that has it.")],
    taker: Annotated[str, typer.Option("--to", help="The team that shall have it.")],
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Give a name of one team to another.

    \b
    cpctl agent-configs hand-over task_type acme_sensor --from acme --to sensors
    """
    body = {"kind": kind, "name": name, "from_team": giver, "to_team": taker}
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Give {kind} {name} of {giver} to {taker}?")
    SESSION.api().post("agent-config-claims:transfer", body, query=terms.query())
    terms.tell(f"{kind} {name} is with {taker}.")


def release(
    kind: ClaimKind,
    name: ClaimName,
    *,
    team: Annotated[str, typer.Option(help="The team that has it.")],
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Release a claimed name, so that another team can claim it.

    \b
    cpctl agent-configs release task_type acme_sensor --team sensors
    """
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Give up {kind} {name} of {team}?")
    body = {"kind": kind, "name": name, "team": team}
    SESSION.api().post("agent-config-claims:release", body, query=terms.query())
    terms.tell(f"{kind} {name} is free.")
