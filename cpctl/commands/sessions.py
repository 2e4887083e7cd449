"""The commands `sessions`: console sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.session import SESSION

sessions = typer.Typer(help="List and end console sessions.", no_args_is_help=True)
Owner = Annotated[str, typer.Option("--principal", help="Owner of the sessions. Default: you.")]


@sessions.command("list")
def list_sessions(
    *, principal: Owner = "", output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List console sessions of a person.

    \b
    cpctl sessions list --principal jane
    """
    get.list_of(kind_named("sessions"), {"principal": principal}, output, headers=not no_headers)


@sessions.command("end")
def end_session(
    session: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """End a console session by its id.

    \b
    cpctl sessions end 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions("", dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(kind_named("sessions"), session),
        f"the session {session}",
        change,
        verb="End",
        done="ended",
    )


@sessions.command("end-all")
def end_all(*, principal: Owner = "", dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """End all console sessions of a person.

    \b
    cpctl sessions end-all --principal ada
    """
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"End all sessions of {principal}?" if principal else "End all your sessions?")
    body = change_options.non_empty(principal=principal)
    ended = SESSION.api().post("sessions:end", body, query=change.query()).json()["ended"]
    change.tell(f"Ended sessions: {ended}.")
