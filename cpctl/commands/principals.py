"""`principals`, `tokens` and `roles`: who may come in, and what they may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.contexts import read_token
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.scopes import scope_text
from cpctl.session import SESSION

principals = typer.Typer(help="Principals: list, create, switch off and on.", no_args_is_help=True)
tokens = typer.Typer(help="Tokens: list, create, revoke.", no_args_is_help=True)
roles = typer.Typer(help="Roles: who has which where; grant, revoke.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME")]
Only = Annotated[str, typer.Option("--principal", help="Only theirs.")]


class PrincipalKind(StrEnum):
    PERSON = "person"
    SERVICE = "service"


@principals.command("list")
def list_principals(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List principals.

    \b
    cpctl principals list
    """
    get.list_of(kind_named("principals"), {}, output, headers=not no_headers)


@principals.command("create")
def create_principal(
    name: Name,
    *,
    kind: Annotated[PrincipalKind, typer.Option(help="person or service.")],
    password_file: Annotated[str, typer.Option(help="For the console: a file, or - for stdin.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a principal. It may do nothing until it is granted a role.

    \b
    cpctl principals create ci-billing --kind service
    cpctl roles grant ci-billing editor -p billing
    """
    password = read_token(password_file) if password_file else ""
    body = change_options.said(name=name, kind=kind, password=password)
    terms = options.Decision("", dry_run, yes)
    change_options.create(kind_named("principals"), body, terms, output, asked=f"Create the {kind} {name}?")


@principals.command("disable")
def disable_principal(name: Name, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Switch a principal off: its tokens and sessions stop working.

    \b
    cpctl principals disable ci-billing
    """
    _switch(name, options.Decision("", dry_run, yes), on=False)


@principals.command("enable")
def enable_principal(name: Name, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Switch a principal on again.

    \b
    cpctl principals enable ci-billing
    """
    _switch(name, options.Decision("", dry_run, yes), on=True)


@tokens.command("list")
def list_tokens(
    *, principal: Only = "", output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List tokens; never their secrets.

    \b
    cpctl tokens list --principal ci-billing
    """
    get.list_of(kind_named("tokens"), {"principal": principal}, output, headers=not no_headers)


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    *,
    principal: Annotated[str, typer.Option(help="Whose it is; else yours.")] = "",
    expires_at: Annotated[str, typer.Option(help="An RFC 3339 time, or `never`; else 90 days.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a token, and print it. It is shown once.

    It expires no later than the token that you use, and is revoked with it.

    \b
    cpctl tokens create "GitHub Actions" --principal ci-billing --yes > ci.token
    """
    body = change_options.said(name=name, principal=principal, expires_at=expires_at)
    if expires_at == "never":
        body["expires_at"] = None
    terms = options.Decision("", dry_run, yes)
    asked = f"Make a token of {principal or 'yours'}?"
    change_options.create_secret(kind_named("tokens"), body, terms, output, asked=asked)


@tokens.command("revoke")
def revoke_token(
    token: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """End a token at once.

    \b
    cpctl tokens revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision("", dry_run, yes)
    change_options.take_back(
        change_options.place_of(kind_named("tokens"), token), f"the token {token}", terms
    )


@roles.command("list")
def list_roles(
    *, principal: Only = "", output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List who has which role where.

    \b
    cpctl roles list --principal ci-billing
    """
    get.list_of(kind_named("role-bindings"), {"principal": principal}, output, headers=not no_headers)


@roles.command("grant")
def grant_role(
    *,
    principal: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="Such as viewer, editor or admin.")],
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Give a principal a role at a scope and all below it.

    \b
    cpctl roles grant ci-billing editor -p billing -d production
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    terms = options.Decision("", dry_run, yes)
    asked = f"Make {principal} {role} at {scope_text(scope)}?"
    body: dict[str, Any] = {"principal": principal, "role": role, "scope": scope}
    change_options.create(kind_named("role-bindings"), body, terms, output, asked=asked)


@roles.command("revoke")
def revoke_role(
    binding: change_options.Id, *, dry_run: options.DryRun = False, yes: options.Yes = False
) -> None:
    """Take a role back, by the id that `list` shows.

    \b
    cpctl roles revoke 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision("", dry_run, yes)
    change_options.take_back(
        change_options.place_of(kind_named("role-bindings"), binding), f"the role {binding}", terms
    )


def _switch(name: str, terms: options.Decision, *, on: bool) -> None:
    state = "on" if on else "off"
    terms.ask(f"Switch {name} {state}?")
    path = change_options.place_of(kind_named("principals"), name)
    SESSION.api().send("PATCH", path, {"is_active": on}, query=terms.query())
    terms.tell(f"{name} is switched {state}.")
