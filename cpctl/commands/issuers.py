"""The command `issuers`: trusted issuers, whose tokens workloads exchange."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.contexts import read_token
from cpctl.errors import NotFound
from cpctl.exits import Exit
from cpctl.login_kinds import ISSUER
from cpctl.output import Format, document, say
from cpctl.session import SESSION

issuers = typer.Typer(help="Manage issuers whose tokens workloads exchange.", no_args_is_help=True)
IssuerName = Annotated[str, typer.Argument(metavar="ISSUER", help="Issuer's URL, or its id.")]
_READ_ONLY = frozenset({"id", "version", "created_at"})


@issuers.command("list")
def list_issuers(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List trusted issuers.

    \b
    cpctl issuers list
    """
    get.list_of(ISSUER, {}, output, headers=not no_headers)


@issuers.command("show")
def show_issuer(issuer: IssuerName, output: options.Output = Format.YAML) -> None:
    """Show a trusted issuer with its rules.

    \b
    cpctl issuers show https://token.actions.githubusercontent.com
    """
    change_options.show_whole(ISSUER, _id_of(issuer), output)


@issuers.command("set")
def set_issuer(
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create or replace the trusted issuer that a file describes.

    \b
    cpctl issuers set -f github-actions.yaml
    """
    body = change_options.without_fields(change_options.object_in(file), _READ_ONLY)
    change = options.ChangeOptions(message, dry_run, yes)
    issuer = str(body.get("issuer", ""))
    if issuer_id := _find_id(issuer):
        change_options.put(ISSUER, issuer_id, body, change, output)
    else:
        change_options.create(ISSUER, body, change, output, question=f"Trust the issuer {issuer}?")


@issuers.command("delete")
def delete_issuer(
    issuer: IssuerName,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a trusted issuer. Its tokens are refused from then on.

    \b
    cpctl issuers delete https://token.actions.githubusercontent.com
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(ISSUER, _id_of(issuer)), f"the issuer {issuer}", change)


@issuers.command("test")
def explain_token(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File with a token; - for standard input.")],
    output: options.Output = Format.TABLE,
) -> None:
    """Explain whether a token would be accepted, and by which rule. Exits with 4 if not.

    \b
    cpctl issuers test workload.token
    """
    result = SESSION.api().post("trusted-issuers:test", {"token": read_token(file)}).json()
    say(*(document(result, output) if output.is_whole else _explanation(result)))
    if not result["accepted"]:
        raise typer.Exit(Exit.AUTH)


def _explanation(result: dict[str, Any]) -> list[str]:
    if result["accepted"]:
        first = f"accepted: {result['principal']}, for {result['expires_in']} s, by rule {result['rule']}"
    elif result["refused"]:
        first = f"refused: {result['refused']}: {result['reason']}"
    else:
        first = "refused: no rule matches"
    return [first, *(_rule_line(rule) for rule in result["rules"])]


def _rule_line(rule: dict[str, Any]) -> str:
    outcome = "matches" if rule["matches"] else f"does not match: {', '.join(rule['missed_claims'])}"
    return f"  rule {rule['index']}: {outcome}"


def _id_of(issuer: str) -> str:
    """Return the id of an issuer. Raises NotFound."""
    if issuer_id := issuer if get.is_id(issuer) else _find_id(issuer):
        return issuer_id
    raise NotFound(f"The trusted issuer {issuer!r} does not exist.", hint="cpctl issuers list")


def _find_id(issuer: str) -> str:
    """Return the id of the issuer with this URL; empty if there is none."""
    items = SESSION.api().items(ISSUER.path)
    return next((str(item["id"]) for item in items if item["issuer"] == issuer), "")
