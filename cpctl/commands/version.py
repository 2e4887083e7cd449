"""The command `version`: of cpctl and of the server, and whether the two go together."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import VERSION
from cpctl.commands import options
from cpctl.errors import CpctlError
from cpctl.output import Format, document, note, say
from cpctl.session import SESSION
from cpctl.version_skew import server_version, skew

if TYPE_CHECKING:
    from cpctl.client import Api


def version(
    *,
    client: Annotated[bool, typer.Option("--client", help="Only the version of cpctl.")] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Print the versions of cpctl and of the server. Warns if they are more than one minor release apart.

    \b
    cpctl version
    cpctl version --client -o json
    """
    versions: dict[str, Any] = {"cpctl": VERSION}
    if not client:
        versions |= _of_server()
    if output.is_whole:
        say(*document(versions, output))
    else:
        say(*(f"{name}: {value}" for name, value in versions.items()))
    _warn(str(versions.get("server", "")))


def _of_server() -> dict[str, str]:
    """Return the server's version and address. Raises if it cannot be reached: the client's is printed."""
    try:
        context = SESSION.chosen()
        body = SESSION.api(context).get("version").json()
    except CpctlError:
        say(f"cpctl: {VERSION}")
        raise
    return {"server": server_version(body) or "unknown", "address": context.server}


def warn_if_apart(api: Api) -> None:
    """Warn if the server is more than one minor release from cpctl. Silent if it does not say."""
    with suppress(CpctlError):
        _warn(server_version(api.get("version").json()))


def _warn(server: str) -> None:
    if warning := skew(VERSION, server):
        note(f"warning: {warning}")
