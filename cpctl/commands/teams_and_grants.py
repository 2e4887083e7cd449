"""The commands `agent-configs teams`, `grants` and `sources`, and quarantine of documents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl.agent_kinds import GRANT, TEAM
from cpctl.columns import Kind, field, timestamp
from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.output import Column, Format, counted, say
from cpctl.session import SESSION

teams = typer.Typer(help="Manage publishing teams.", no_args_is_help=True)
grants = typer.Typer(help="Manage grants: names that only one team can claim.", no_args_is_help=True)
sources = typer.Typer(help="Manage sources of documents: folders and clusters.", no_args_is_help=True)
TeamName = Annotated[str, typer.Argument(metavar="TEAM")]
_SOURCE = Kind(
    "sources",
    "agent-config-sources",
    (
        field("SOURCE"),
        field("STATE"),
        field("PROBLEMS", "problem_count"),
        Column("PENDING", lambda item: len((item["pending"] or {}).get("documents", ()))),
        timestamp("CHECKED AT", "checked_at"),
        timestamp("LOADED AT", "loaded_at", wide=True),
    ),
    key="source",
)


class ClaimKind(StrEnum):
    TASK_TYPE = "task_type"
    AGENT = "agent"


@teams.command("list")
def list_teams(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List teams with their publishers.

    \b
    cpctl agent-configs teams list
    """
    get.list_of(TEAM, {}, output, headers=not no_headers)


@teams.command("set")
def set_team(
    team: TeamName,
    *,
    publisher: Annotated[
        list[str] | None, typer.Option(help="Publisher of the team. Repeatable. Default: unchanged.")
    ] = None,
    organisation: Annotated[
        str | None, typer.Option(help="Organisation of the team. Default: unchanged.")
    ] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create or update a team and its publishers.

    \b
    cpctl agent-configs teams set acme --publisher acme-ci --publisher ada
    """
    current = change_options.current_object(change_options.path_of(TEAM, team))
    body: dict[str, Any] = {
        "publishers": publisher or current.get("publishers", []),
        "organisation": current.get("organisation", "") if organisation is None else organisation,
    }
    change_options.put(TEAM, team, body, options.ChangeOptions(message, dry_run, yes), output)


@grants.command("list")
def list_grants(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List grants.

    \b
    cpctl agent-configs grants list
    """
    get.list_of(GRANT, {}, output, headers=not no_headers)


@grants.command("give")
def give_grant(
    team: TeamName,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Name or pattern, such as 'acme_*'.")],
    *,
    kind: Annotated[ClaimKind, typer.Option(help="Kind of the names.")] = ClaimKind.TASK_TYPE,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Grant names to a team, so that only this team can claim them.

    \b
    cpctl agent-configs grants give acme "acme_*"
    """
    body = {"team": team, "kind": kind, "pattern": pattern}
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.create(GRANT, body, change, output, question=f"Grant {kind} {pattern} to {team}?")


@grants.command("withdraw")
def withdraw_grant(
    grant: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Withdraw a grant by its id.

    \b
    cpctl agent-configs grants withdraw 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(GRANT, grant), f"the grant {grant}", change, verb="Withdraw", done="withdrawn"
    )


@sources.command("list")
def list_sources(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List sources, and removals that wait for confirmation.

    \b
    cpctl agent-configs sources list
    """
    get.show(_SOURCE, _sources(), output, headers=not no_headers)


@sources.command("confirm")
def confirm_source(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source: folder or kubernetes.")],
    *,
    digest: Annotated[str, typer.Option(help="Digest of the reviewed removal.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Confirm the removal of many documents from a source.

    \b
    cpctl agent-configs sources confirm kubernetes
    """
    pending = next(
        (source_status["pending"] for source_status in _sources() if source_status["source"] == source), None
    )
    if not pending:
        raise UsageError(
            f"No removal in {source} is waiting for confirmation.", hint="cpctl agent-configs sources list"
        )
    for document in pending["documents"]:
        SESSION.tell(f"- {document}")
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Remove {counted(len(pending['documents']), 'document')}?")
    body = {"source": source, "digest": digest or pending["digest"]}
    SESSION.api().post("agent-config-sources:confirm", body, query=change.query())
    change.tell("Removal confirmed.")


def stop(body: dict[str, Any], verb: str, change: options.ChangeOptions) -> None:
    """Quarantine a document, or readmit it."""
    name = f"{body['team']}/{body['name']}"
    change.ask(f"{verb.capitalize()} {name}?")
    done = SESSION.api().post(f"agent-configs:{verb}", body, query=change.query()).json()
    say(f"{name}: {'quarantined' if done['quarantines'] else 'readmitted'}")


def _sources() -> list[Any]:
    # This list has no pages.
    return list(SESSION.api().get(_SOURCE.path).json()["items"])
