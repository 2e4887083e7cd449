"""`agent-configs teams`, `grants` and `sources`, and documents that are stopped: who may publish what."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl.agent_kinds import GRANT, TEAM
from cpctl.columns import Kind, field, moment
from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.output import Column, Format, say
from cpctl.session import SESSION

teams = typer.Typer(help="Teams that publish.", no_args_is_help=True)
grants = typer.Typer(help="Grants: names that only one team may claim.", no_args_is_help=True)
sources = typer.Typer(help="Sources that are followed: folders and clusters.", no_args_is_help=True)
TeamName = Annotated[str, typer.Argument(metavar="TEAM")]
_SOURCE = Kind(
    "sources",
    "agent-config-sources",
    (
        field("SOURCE"),
        field("STATE"),
        field("PROBLEMS", "problem_count"),
        Column("PENDING", lambda item: len((item["pending"] or {}).get("documents", ()))),
        moment("CHECKED AT", "checked_at"),
        moment("LOADED AT", "loaded_at", wide=True),
    ),
    key="source",
)


class ClaimKind(StrEnum):
    TASK_TYPE = "task_type"
    AGENT = "agent"


@teams.command("list")
def list_teams(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List teams, and who publishes for each.

    \b
    cpctl agent-configs teams list
    """
    get.list_of(TEAM, {}, output, headers=not no_headers)


@teams.command("set")
def set_team(
    team: TeamName,
    *,
    publisher: Annotated[
        list[str] | None, typer.Option(help="Who publishes for it; repeat it. Else as it is.")
    ] = None,
    organisation: Annotated[str | None, typer.Option(help="Whose team it is. Else as it is.")] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a team, or change who publishes for it.

    \b
    cpctl agent-configs teams set acme --publisher acme-ci --publisher ada
    """
    stands = change_options.standing(change_options.place_of(TEAM, team))
    body: dict[str, Any] = {
        "publishers": publisher or stands.get("publishers", []),
        "organisation": stands.get("organisation", "") if organisation is None else organisation,
    }
    change_options.put(TEAM, team, body, options.Decision(message, dry_run, yes), output)


@grants.command("list")
def list_grants(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List which names belong to which team.

    \b
    cpctl agent-configs grants list
    """
    get.list_of(GRANT, {}, output, headers=not no_headers)


@grants.command("give")
def give_grant(
    team: TeamName,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A name, or such as 'acme_*'.")],
    *,
    kind: Annotated[ClaimKind, typer.Option(help="Of what the names are.")] = ClaimKind.TASK_TYPE,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Let nobody but a team claim these names.

    \b
    cpctl agent-configs grants give acme "acme_*"
    """
    body = {"team": team, "kind": kind, "pattern": pattern}
    terms = options.Decision(message, dry_run, yes)
    change_options.create(GRANT, body, terms, output, asked=f"Give {kind} {pattern} to {team}?")


@grants.command("withdraw")
def withdraw_grant(
    grant: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Take a grant back, by the id that `list` shows.

    \b
    cpctl agent-configs grants withdraw 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision(message, dry_run, yes)
    change_options.take_back(change_options.place_of(GRANT, grant), f"the grant {grant}", terms)


@sources.command("list")
def list_sources(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List the sources, and what waits to be confirmed.

    \b
    cpctl agent-configs sources list
    """
    get.show(_SOURCE, _sources(), output, headers=not no_headers)


@sources.command("confirm")
def confirm_source(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="folder or kubernetes.")],
    *,
    digest: Annotated[str, typer.Option(help="Of the removal that you looked at.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Confirm the removal of many documents from a source.

    \b
    cpctl agent-configs sources confirm kubernetes
    """
    pending = next((one["pending"] for one in _sources() if one["source"] == source), None)
    if not pending:
        raise UsageError(f"Nothing waits at {source}.", hint="cpctl agent-configs sources list")
    for document in pending["documents"]:
        SESSION.tell(f"- {document}")
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Let {len(pending['documents'])} documents go?")
    body = {"source": source, "digest": digest or pending["digest"]}
    SESSION.api().post("agent-config-sources:confirm", body, query=terms.query())
    terms.tell("They are gone.")


def stop(body: dict[str, Any], verb: str, terms: options.Decision) -> None:
    """Quarantine a document, or readmit it."""
    name = f"{body['team']}/{body['name']}"
    terms.ask(f"{verb.capitalize()} {name}?")
    done = SESSION.api().post(f"agent-configs:{verb}", body, query=terms.query()).json()
    say(f"{name}: {'quarantined' if done['quarantines'] else 'admitted'}")


def _sources() -> list[Any]:
    # They come in one answer, and know no pages.
    return list(SESSION.api().get(_SOURCE.path).json()["items"])
