"""The commands `principals` and `tokens`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cpctl.commands import change_options, get, options
from cpctl.contexts import read_token
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.session import SESSION

principals = typer.Typer(help="List, create, disable and enable principals.", no_args_is_help=True)
tokens = typer.Typer(help="List, create and revoke tokens.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME")]
Only = Annotated[str, typer.Option("--principal", help="Filter by principal.")]


class PrincipalKind(StrEnum):
    PERSON = "person"
    SERVICE = "service"


@principals.command("list")
def list_principals(
    *,
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List principals.

    \b
    cpctl principals list --sort kind,name
    """
    get.list_of(kind_named("principals"), {"q": search, "sort": sort}, output, headers=not no_headers)


@principals.command("create")
def create_principal(
    name: Name,
    *,
    kind: Annotated[PrincipalKind, typer.Option(help="Kind: person or service.")],
    password_file: Annotated[
        str, typer.Option(help="File with the password for the console; - for standard input.")
    ] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a principal. It has no permissions until it is granted a role.

    \b
    cpctl principals create ci-billing --kind service
    cpctl roles grant ci-billing editor -p billing
    """
    password = read_token(password_file) if password_file else ""
    body = change_options.non_empty(name=name, kind=kind, password=password)
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(
        kind_named("principals"), body, change, output, question=f"Create the {kind} {name}?"
    )


@principals.command("disable")
def disable_principal(name: Name, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Disable a principal. Its tokens and sessions stop working.

    \b
    cpctl principals disable ci-billing
    """
    _switch(name, options.ChangeOptions("", dry_run, yes), on=False)


@principals.command("enable")
def enable_principal(name: Name, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Enable a principal.

    \b
    cpctl principals enable ci-billing
    """
    _switch(name, options.ChangeOptions("", dry_run, yes), on=True)


@tokens.command("list")
def list_tokens(
    *, principal: Only = "", output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List tokens, without their secrets.

    \b
    cpctl tokens list --principal ci-billing
    """
    get.list_of(kind_named("tokens"), {"principal": principal}, output, headers=not no_headers)


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Purpose of the token.")],
    *,
    principal: Annotated[str, typer.Option(help="Owner of the token. Default: you.")] = "",
    expires_at: Annotated[
        str, typer.Option(help="Expiry: an RFC 3339 time, or `never`. Default: 90 days.")
    ] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a token and print it. It is shown only once.

    It expires no later than the token in use, and is revoked with it.

    \b
    cpctl tokens create "GitHub Actions" --principal ci-billing --yes > ci.token
    """
    body = change_options.non_empty(name=name, principal=principal, expires_at=expires_at)
    if expires_at == "never":
        body["expires_at"] = None
    change = options.ChangeOptions("", dry_run, yes)
    question = f"Create a token for {principal or 'yourself'}?"
    change_options.create_secret(kind_named("tokens"), body, change, output, question=question)


@tokens.command("revoke")
def revoke_token(
    token: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """Revoke a token.

    \b
    cpctl tokens revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions("", dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(kind_named("tokens"), token),
        f"the token {token}",
        change,
        verb="Revoke",
        done="revoked",
    )


def _switch(name: str, change: options.ChangeOptions, *, on: bool) -> None:
    verb = "enable" if on else "disable"
    change.ask(f"{verb.capitalize()} {name}?")
    path = change_options.path_of(kind_named("principals"), name)
    SESSION.api().send("PATCH", path, {"is_active": on}, query=change.query())
    change.tell(f"{name} {verb}d.")
