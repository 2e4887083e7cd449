"""The commands `plugins config`, `plugins secrets`, `plugins show` and `plugins nodes`: what a server has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl.columns import Kind, field, timestamp
from cpctl.commands import change_options, get, options, plugin_options
from cpctl.errors import UsageError
from cpctl.output import Format, document, say
from cpctl.paths import segment
from cpctl.session import SESSION

config = typer.Typer(help="Show the plugin configuration and its versions.", no_args_is_help=True)
secrets = typer.Typer(help="List, set and delete secrets of plugin providers.", no_args_is_help=True)
_CONFIG = Kind(
    "plugin-configs",
    "plugin-config/versions",
    (
        field("VERSION"),
        field("TEAM"),
        timestamp("CHANGED", "changed_at"),
        field("BY", "changed_by"),
        field("ORIGIN", wide=True),
        field("DIGEST", wide=True),
        field("MESSAGE"),
    ),
    key="version",
)
_SECRET = Kind(
    "plugin-secrets",
    "plugin-secrets",
    (
        field("NAME"),
        field("TEAM"),
        field("VERSION"),
        timestamp("CHANGED", "changed_at"),
        field("BY", "changed_by"),
    ),
)
_NODE = Kind(
    "plugin-nodes",
    "plugin-nodes",
    (
        field("NAME"),
        field("LIVE"),
        field("VERSION", "server_version"),
        timestamp("SEEN", "seen_at"),
        timestamp("JOINED", "joined_at", wide=True),
    ),
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name, as the configuration refers to it.")]


def show_plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the plugin.")],
    version: Annotated[
        str, typer.Argument(metavar="[VERSION]", help="Default: as the active release has it.")
    ] = "",
    *,
    team: plugin_options.Team = "",
    output: options.Output = Format.YAML,
) -> None:
    """Show a plugin of the active release, with its variables, or a version of it.

    \b
    cpctl plugins show bq2bq
    cpctl plugins show bq2bq 1.4.0
    """
    path = f"plugins/{segment(name)}{f'/{segment(version)}' if version else ''}"
    plugin = SESSION.api().get(path, {"team": team}).json()
    say(*document(plugin, output if output.is_whole else Format.YAML))


def list_nodes(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List the nodes that install plugins.

    \b
    cpctl plugins nodes
    """
    get.list_of(_NODE, {}, output, headers=not no_headers)


@config.command("show")
def show_config(*, team: plugin_options.Team = "", output: options.Output = Format.YAML) -> None:
    """Show the plugin configuration, as `install -c` takes it. With -o json, all details.

    \b
    cpctl plugins config show
    """
    answer = SESSION.api().get("plugin-config", {"team": team}).json()
    say(*(document(answer, output) if output.is_whole and output is not Format.YAML else _as_file(answer)))


def _as_file(answer: Any) -> list[str]:
    return document(answer["document"], Format.YAML)


@config.command("history")
def config_history(
    *,
    team: plugin_options.Team = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List the versions of the plugin configuration, newest first.

    \b
    cpctl plugins config history
    """
    get.list_of(_CONFIG, {"team": team}, output, headers=not no_headers, limit=limit)


@config.command("source")
def config_source(*, team: plugin_options.Team = "", output: options.Output = Format.YAML) -> None:
    """Show whether the server reads the configuration from files, and what is wrong with them.

    \b
    cpctl plugins config source
    """
    answer = SESSION.api().get("plugin-config/source", {"team": team}).json()
    say(*document(answer, output if output.is_whole else Format.YAML))


@secrets.command("list")
def list_secrets(
    *,
    team: plugin_options.Team = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the secrets of providers, without their values.

    \b
    cpctl plugins secrets list
    """
    get.list_of(_SECRET, {"team": team}, output, headers=not no_headers)


@secrets.command("set")
def set_secret(
    name: Name,
    *,
    file: Annotated[str, typer.Option("-f", "--file", help="File with the value, or -.")],
    team: plugin_options.Team = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Store the credential of a provider, to which the configuration refers by `secretRef`.

    The value is the text of the file, without line breaks at its end.

    \b
    cpctl plugins secrets set artifacts-token -f artifacts.token
    """
    change = options.ChangeOptions(message, dry_run, yes)
    value = _value(file)
    change.ask(f"Set the secret {name}?")
    query = {"team": team, **change.query()}
    SESSION.api().send("PUT", _path(name), {"value": value}, query=query)
    change.tell(f"The secret {name} is set.")


def _value(file: str) -> str:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read the secret: {error}.") from error
    if not (value := text.rstrip("\r\n")):
        raise UsageError(f"{'Standard input' if file == '-' else file} is empty.")
    return value


@secrets.command("delete")
def delete_secret(
    name: Name,
    *,
    team: plugin_options.Team = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete the credential of a provider. What is installed stays.

    \b
    cpctl plugins secrets delete artifacts-token
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Delete the secret {name}?")
    SESSION.api().send("DELETE", _path(name), query={"team": team, **change.query()})
    change.tell(f"The secret {name} is deleted.")


def _path(name: str) -> str:
    return change_options.path_of(_SECRET, name)
