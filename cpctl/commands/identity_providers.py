"""The command `identity-providers`: OpenID providers at which people log in."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.contexts import read_token
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.login_kinds import IDENTITY_PROVIDER
from cpctl.output import Format, document, say
from cpctl.session import SESSION

identity_providers = typer.Typer(help="Manage OpenID providers at which people log in.", no_args_is_help=True)
Provider = Annotated[str, typer.Argument(metavar="PROVIDER", help="Name of the identity provider.")]
_READ_ONLY = frozenset({"slug", "configured_in", "version"})


@identity_providers.command("list")
def list_providers(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List identity providers, without their secrets.

    \b
    cpctl identity-providers list
    """
    # This list has no pages.
    providers = SESSION.api().get(IDENTITY_PROVIDER.path).json()["items"]
    get.show(IDENTITY_PROVIDER, providers, output, headers=not no_headers)


@identity_providers.command("show")
def show_provider(provider: Provider, output: options.Output = Format.YAML) -> None:
    """Show an identity provider with its rules, without its secret.

    \b
    cpctl identity-providers show work
    """
    change_options.show_whole(IDENTITY_PROVIDER, provider, output)


@identity_providers.command("set")
def set_provider(
    provider: Provider,
    *,
    file: change_options.File,
    secret_file: Annotated[str, typer.Option(help="File with the client's secret. Default: unchanged.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create or replace an identity provider from a file.

    \b
    cpctl identity-providers set work -f work.yaml
    """
    body = change_options.without_fields(change_options.object_in(file), _READ_ONLY)
    if secret_file:
        body["client_secret"] = read_token(secret_file)
    change = options.ChangeOptions("", dry_run, yes)
    change_options.put(IDENTITY_PROVIDER, provider, body, change, output)


@identity_providers.command("delete")
def delete_provider(provider: Provider, *, dry_run: options.DryRun = False, yes: options.Yes = False) -> None:
    """Delete an identity provider and end the sessions of its logins.

    \b
    cpctl identity-providers delete work
    """
    change = options.ChangeOptions("", dry_run, yes)
    path = change_options.path_of(IDENTITY_PROVIDER, provider)
    change_options.delete(path, f"the identity provider {provider}", change)


@identity_providers.command("test")
def try_rules(
    provider: Provider,
    *,
    claims: Annotated[str, typer.Option(help="YAML or JSON file with claims; - for standard input.")] = "",
    token_file: Annotated[str, typer.Option(help="File with an ID token; - for standard input.")] = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Show which rules match a token or claims. Exits with 4 if the person could not log in.

    \b
    cpctl identity-providers test work --claims claims.yaml
    """
    if bool(claims) == bool(token_file):
        raise UsageError("Choose one of --claims and --token-file.")
    body = {"claims": change_options.object_in(claims)} if claims else {"token": read_token(token_file)}
    path = f"{change_options.path_of(IDENTITY_PROVIDER, provider)}:test"
    result = SESSION.api().post(path, body).json()
    say(*(document(result, output) if output.is_whole else _explanation(result)))
    if not result["may_log_in"]:
        raise typer.Exit(Exit.AUTH)


def _explanation(result: dict[str, Any]) -> list[str]:
    first = "The person may log in." if result["may_log_in"] else "The person may not log in."
    problems = [f"  {problem}" for problem in result["problems"]]
    return [first, *problems, *(_match_line(match) for match in result["matches"])]


def _match_line(match: dict[str, Any]) -> str:
    role = f"role {match['role']['role']}" if match["role"] else ""
    team = f"team {match['team']}" if match["team"] else ""
    gained = match["problem"] or ", ".join(filter(None, (team, role)))
    return f"  rule {match['rule']} matches {match['value']}: {gained}"
