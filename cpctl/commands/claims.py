"""The commands `agent-configs conflicts|claims|hand-over|release|pin|unpin|pins`: names claimed by teams."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.agent_kinds import CLAIM, CONFLICT, PIN
from cpctl.commands import get, options
from cpctl.output import Format
from cpctl.session import SESSION

ClaimKind = Annotated[str, typer.Argument(metavar="KIND", help="Kind of name: task_type or agent.")]
ClaimName = Annotated[str, typer.Argument(metavar="NAME", help="Name, such as acme_sensor.")]


def list_conflicts(
    *,
    team: options.Team = "",
    data_plane: options.DataPlane = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List rejected claims with their winners.

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
    """List accepted claims.

    \b
    cpctl agent-configs claims --team acme
    """
    get.list_of(CLAIM, {"team": team, "data_plane": data_plane}, output, headers=not no_headers)


def hand_over(
    kind: ClaimKind,
    name: ClaimName,
    *,
    giver: Annotated[str, typer.Option("--from", help="Team that holds the name.")],
    taker: Annotated[str, typer.Option("--to", help="Team that gets the name.")],
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Transfer a name from one team to another.

    \b
    cpctl agent-configs hand-over task_type acme_sensor --from acme --to sensors
    """
    body = {"kind": kind, "name": name, "from_team": giver, "to_team": taker}
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Transfer {kind} {name} from {giver} to {taker}?")
    SESSION.api().post("agent-config-claims:transfer", body, query=change.query())
    change.tell(f"{kind} {name} transferred to {taker}.")


def release(
    kind: ClaimKind,
    name: ClaimName,
    *,
    team: Annotated[str, typer.Option(help="Team that holds the name.")],
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Release a claimed name, so that another team can claim it.

    \b
    cpctl agent-configs release task_type acme_sensor --team sensors
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Release {kind} {name} of {team}?")
    body = {"kind": kind, "name": name, "team": team}
    SESSION.api().post("agent-config-claims:release", body, query=change.query())
    change.tell(f"{kind} {name} released.")


def list_pins(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List pinned names.

    \b
    cpctl agent-configs pins
    """
    get.list_of(PIN, {}, output, headers=not no_headers)


def pin(
    kind: ClaimKind,
    name: ClaimName,
    *,
    team: Annotated[str, typer.Option(help="Team that has the name, and that claims it.")],
    until: Annotated[str, typer.Option(help="Expiry, as an RFC 3339 time; by default never.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Pin a name to a team, whatever other teams publish.

    \b
    cpctl agent-configs pin task_type acme_sensor --team acme --until 2030-01-31T00:00:00Z -m "In production"
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Pin {kind} {name} to {team}?")
    body = {"kind": kind, "name": name, "team": team, "until": until or None}
    SESSION.api().post("agent-config-claims:pin", body, query=change.query())
    change.tell(f"{kind} {name} pinned to {team}.")


def unpin(
    kind: ClaimKind,
    name: ClaimName,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Unpin a name, so that the usual rules decide again.

    \b
    cpctl agent-configs unpin task_type acme_sensor
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Unpin {kind} {name}?")
    SESSION.api().post("agent-config-claims:unpin", {"kind": kind, "name": name}, query=change.query())
    change.tell(f"{kind} {name} unpinned.")
