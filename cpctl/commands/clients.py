"""The command `clients`: OAuth clients and their secrets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.login_kinds import CLIENT, secrets_of
from cpctl.output import Format
from cpctl.session import SESSION

clients = typer.Typer(help="Manage OAuth clients and their secrets.", no_args_is_help=True)
secrets = typer.Typer(help="List, create and revoke secrets of an OAuth client.", no_args_is_help=True)
clients.add_typer(secrets, name="secrets")
ClientId = Annotated[str, typer.Argument(metavar="CLIENT", help="Client id.")]
Grants = Annotated[list[str] | None, typer.Option("--grant", help="Allowed grant type. Repeatable.")]
Scopes = Annotated[list[str] | None, typer.Option("--scope", help="Allowed scope. Repeatable.")]
Defaults = Annotated[
    list[str] | None,
    typer.Option("--default-scope", help="Scope of requests that name none. Repeatable."),
]
Addresses = Annotated[list[str] | None, typer.Option("--redirect-uri", help="Redirect URI. Repeatable.")]
Audiences = Annotated[
    list[str] | None, typer.Option("--audience", help="Resource server for JWTs. Repeatable.")
]


class ClientType(StrEnum):
    PUBLIC = "public"
    CONFIDENTIAL = "confidential"


@clients.command("list")
def list_clients(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List OAuth clients, without their secrets.

    \b
    cpctl clients list
    """
    get.list_of(CLIENT, {}, output, headers=not no_headers)


@clients.command("show")
def show_client(client: ClientId, output: options.Output = Format.YAML) -> None:
    """Show an OAuth client, without its secrets.

    \b
    cpctl clients show flytepropeller
    """
    change_options.show_whole(CLIENT, client, output)


@clients.command("create")
def create_client(
    client: ClientId,
    *,
    client_type: Annotated[
        ClientType, typer.Option("--type", help="Public clients have no secret.")
    ] = ClientType.CONFIDENTIAL,
    name: Annotated[str, typer.Option(help="Name on the consent page.")] = "",
    principal: Annotated[str, typer.Option(help="Service that the client acts as.")] = "",
    team: Annotated[str, typer.Option(help="Team that owns the client.")] = "",
    grant: Grants = None,
    scope: Scopes = None,
    default_scope: Defaults = None,
    redirect_uri: Addresses = None,
    audience: Audiences = None,
    may_introspect: Annotated[
        bool, typer.Option("--may-introspect", help="Allow introspecting tokens of other clients.")
    ] = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create an OAuth client. A confidential client then needs a secret.

    \b
    cpctl clients create ci-deploy --principal acme-ci --scope overrides --default-scope overrides
    cpctl clients create dashboard --type public --redirect-uri https://dashboard.example.com/callback
    """
    lists = _lists(grant, scope, default_scope, redirect_uri, audience)
    texts = change_options.non_empty(name=name, principal=principal, team=team)
    body = {"client_id": client, "type": client_type, **texts, **lists, "may_introspect": may_introspect}
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.create(CLIENT, body, change, output, question=f"Create the client {client}?")


@clients.command("update")
def update_client(
    client: ClientId,
    *,
    name: Annotated[str | None, typer.Option(help="New name. Default: unchanged.")] = None,
    principal: Annotated[
        str | None, typer.Option(help="New service; empty for none. Default: unchanged.")
    ] = None,
    team: Annotated[str | None, typer.Option(help="New owner; empty for none. Default: unchanged.")] = None,
    grant: Grants = None,
    scope: Scopes = None,
    default_scope: Defaults = None,
    redirect_uri: Addresses = None,
    audience: Audiences = None,
    may_introspect: Annotated[
        bool | None, typer.Option(help="Whether it may introspect tokens of other clients.")
    ] = None,
    active: Annotated[
        bool | None, typer.Option(help="Enable the client, or disable it and revoke its tokens.")
    ] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Change an OAuth client. A repeatable option replaces all former values.

    \b
    cpctl clients update flytepropeller --scope read --default-scope read
    cpctl clients update flytepropeller --no-active
    """
    values: dict[str, Any] = {"name": name, "principal": principal, "team": team}
    values |= {"may_introspect": may_introspect, "is_active": active}
    body = {field: value for field, value in values.items() if value is not None}
    body |= _lists(grant, scope, default_scope, redirect_uri, audience)
    path = change_options.path_of(CLIENT, client)
    headers = {"If-Match": SESSION.api().get(path).etag}
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Change the client {client}?")
    changed = SESSION.api().send("PATCH", path, body, query=change.query(), headers=headers)
    get.show(CLIENT, [changed.json()], output)


@clients.command("delete")
def delete_client(
    client: ClientId,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete an OAuth client and revoke its tokens.

    \b
    cpctl clients delete ci-deploy
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(CLIENT, client), f"the client {client}", change)


@secrets.command("list")
def list_secrets(
    client: ClientId, *, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List the secrets of an OAuth client: when they expire and were used, never the secrets.

    \b
    cpctl clients secrets list flytepropeller
    """
    get.list_of(secrets_of(client), {}, output, headers=not no_headers)


@secrets.command("create")
def create_secret(
    client: ClientId,
    *,
    expires_at: Annotated[str, typer.Option(help="Expiry: an RFC 3339 time. Default: one year.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a secret of an OAuth client and print it. It is shown only once.

    \b
    cpctl clients secrets create flytepropeller --yes > flytepropeller.secret
    """
    change = options.ChangeOptions("", dry_run, yes)
    body = change_options.non_empty(expires_at=expires_at)
    question = f"Create a secret of the client {client}?"
    change_options.create_secret(
        secrets_of(client), body, change, output, question=question, printed_field="secret"
    )


@secrets.command("revoke")
def revoke_secret(
    client: ClientId,
    secret: change_options.Id,
    *,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Revoke a secret of an OAuth client.

    \b
    cpctl clients secrets revoke flytepropeller 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions("", dry_run, yes)
    path = change_options.path_of(secrets_of(client), secret)
    change_options.delete_by_id(path, f"the secret {secret}", change, verb="Revoke", done="revoked")


def _lists(
    grants: list[str] | None,
    scopes: list[str] | None,
    default_scopes: list[str] | None,
    redirect_uris: list[str] | None,
    audiences: list[str] | None,
) -> dict[str, list[str]]:
    """Return the lists that are set. An empty value stands for an empty list."""
    lists = {"grants": grants, "scopes": scopes, "default_scopes": default_scopes}
    lists |= {"redirect_uris": redirect_uris, "audiences": audiences}
    return {name: [value for value in values if value] for name, values in lists.items() if values}
