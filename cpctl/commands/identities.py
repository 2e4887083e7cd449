"""The commands `identities` and `signing-keys`."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.login_kinds import IDENTITY, SIGNING_KEY
from cpctl.output import Format
from cpctl.session import SESSION

identities = typer.Typer(help="List, link and unlink accounts at identity providers.", no_args_is_help=True)
signing_keys = typer.Typer(help="List and rotate keys that sign tokens.", no_args_is_help=True)


@identities.command("list")
def list_identities(
    *,
    principal: Annotated[str, typer.Option("--principal", help="Filter by person.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List accounts at identity providers, and whose they are.

    \b
    cpctl identities list --principal jane
    """
    get.list_of(IDENTITY, {"principal": principal}, output, headers=not no_headers)


@identities.command("link")
def link_identity(
    person: Annotated[str, typer.Argument(metavar="PERSON")],
    *,
    issuer: Annotated[str, typer.Option(help="Issuer URL of the identity provider.")],
    subject: Annotated[str, typer.Option(help="Claim `sub` of the person's tokens.")],
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Link an account at an identity provider to a person, who can then log in with it.

    \b
    cpctl identities link jane --issuer https://login.example.com/realms/work --subject 248289761001
    """
    change = options.ChangeOptions("", dry_run, yes)
    body = {"principal": person, "issuer": issuer, "subject": subject}
    question = f"Let {person} log in as {subject} of {issuer}?"
    change_options.create(IDENTITY, body, change, output, question=question)


@identities.command("unlink")
def unlink_identity(
    identity: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """Remove an account from its person and end its sessions.

    \b
    cpctl identities unlink 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions("", dry_run, yes)
    path = change_options.path_of(IDENTITY, identity)
    change_options.delete_by_id(path, f"the identity {identity}", change, verb="Unlink", done="unlinked")


@signing_keys.command("list")
def list_keys(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List keys that sign tokens. There is none until a token is signed.

    \b
    cpctl signing-keys list
    """
    get.list_of(SIGNING_KEY, {}, output, headers=not no_headers)


@signing_keys.command("rotate")
def rotate_keys(
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Sign with the next key from now on. Signatures of the former key stay valid.

    \b
    cpctl signing-keys rotate
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask("Rotate the signing keys?")
    rotated = SESSION.api().post("signing-keys:rotate", query=change.query()).json()
    get.show(SIGNING_KEY, [rotated], output)
