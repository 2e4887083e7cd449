"""`sessions`: who is logged in to the console, and log them out."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.session import SESSION

sessions = typer.Typer(help="Console sessions: list, end.", no_args_is_help=True)
Owner = Annotated[str, typer.Option("--principal", help="Whose; else yours.")]


@sessions.command("list")
def list_sessions(
    *, principal: Owner = "", output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List the browsers in which a person is logged in.

    \b
    cpctl sessions list --principal jane
    """
    get.list_of(kind_named("sessions"), {"principal": principal}, output, headers=not no_headers)


@sessions.command("end")
def end_session(
    session: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """Log one browser out, by the id that `list` shows.

    \b
    cpctl sessions end 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision("", dry_run, yes)
    change_options.take_back(
        change_options.place_of(kind_named("sessions"), session), f"the session {session}", terms
    )


@sessions.command("end-all")
def end_all(*, principal: Owner = "", dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Log all browsers of a person out.

    \b
    cpctl sessions end-all --principal ada
    """
    terms = options.Decision("", dry_run, yes)
    terms.ask(f"End all sessions of {principal}?" if principal else "End all your sessions?")
    body = change_options.said(principal=principal)
    ended = SESSION.api().post("sessions:end", body, query=terms.query()).json()["ended"]
    terms.tell(f"Ended sessions: {ended}.")
