"""The commands `plugins rollback` and `plugins releases`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl.columns import Kind, field, timestamp
from cpctl.commands import get, options, plugin_options
from cpctl.commands.plugin_installs import show_release
from cpctl.output import Format, document, say
from cpctl.paths import segment
from cpctl.plugins import server_mode
from cpctl.plugins.modes import Mode, check_options
from cpctl.plugins.progress import Progress
from cpctl.plugins.store_errors import as_command_errors
from cpctl.session import SESSION
from plugin_store.generations import roll_back

RELEASE = Kind(
    "plugin-releases",
    server_mode.RELEASES,
    (
        field("TEAM"),
        field("NUMBER"),
        field("STATE"),
        field("CONFIG", "config_version"),
        timestamp("CREATED", "created_at"),
        timestamp("ACTIVATED", "activated_at", wide=True),
        field("BY", "created_by", wide=True),
        field("MESSAGE"),
        field("WAITING FOR", "waiting_for"),
    ),
    key="number",
)
releases = typer.Typer(help="List, show, activate and cancel releases of plugins.", no_args_is_help=True)
Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Number of the release.")]


def rollback(
    *,
    mode: plugin_options.ModeName = "",
    to: Annotated[
        int | None, typer.Option(min=1, help="Release or generation. Default: the one before.")
    ] = None,
    team: plugin_options.Team = "",
    root: plugin_options.Root = "",
    timeout: options.Timeout = 600.0,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Make an earlier release active again, or on this machine an earlier generation.

    Nothing is downloaded. In client mode, the next `install` brings back the server's plugins.

    \b
    cpctl plugins rollback --mode server -m "Wrong image"
    cpctl plugins rollback --mode client --to 1
    """
    plugin_options.check_output(output)
    chosen = plugin_options.mode_of(mode)
    check_options(chosen, server_only={}, client_only={"--root": bool(root)}, command="rollback")
    change = options.ChangeOptions(message, dry_run, yes)
    if chosen is Mode.SERVER:
        return _roll_back_server(to, team, change, output, timeout)
    folder = plugin_options.folder_of(root, team)
    with as_command_errors():
        folder.require_plugins()
        if dry_run:
            return _preview(folder.root, to)
        change.ask(f"Roll back the plugins of {folder.root}?")
        generation = roll_back(folder.root, to)
    plugins = [{"name": plugin.name, "version": plugin.version} for plugin in generation.plugins]
    if output is Format.JSON:
        return Progress(output).event("finished", "", generation=generation.number, plugins=plugins)
    say(*[f"{plugin['name']} {plugin['version']}" for plugin in plugins])
    say(f"Generation {generation.number} is active.")
    return None


def _preview(root: Path, to: int | None) -> None:
    from plugin_store.generations import load_manifest

    generation = load_manifest(root).roll_back(to).current
    say(*[f"{plugin.name} {plugin.version}" for plugin in generation.plugins])
    say(f"Dry run: generation {generation.number} would be active.")


def _roll_back_server(
    to: int | None, team: str, change: options.ChangeOptions, output: Format, timeout: float
) -> None:
    api = SESSION.api()
    if to is None:
        release = server_mode.release_before(list(server_mode.releases_of(api, team)))
    else:
        release = server_mode.find_release(api, team, to)
    owner = f" of team {release['team']}" if release["team"] else ""
    change.ask(f"Roll back the plugins{owner} to release {release['number']}?")
    done = _act(release, "rollback", change)
    if change.dry_run:
        return change.tell(f"Release {release['number']} would be active.")
    progress = Progress(output)
    until = time.monotonic() + timeout
    return show_release(
        server_mode.wait_until_active(api, done, until, progress, is_manual=False, is_rollback=True), output
    )


@releases.command("list")
def list_releases(
    *,
    team: plugin_options.Team = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List releases, newest first.

    \b
    cpctl plugins releases list
    """
    get.list_of(RELEASE, {"team": team}, output, headers=not no_headers, limit=limit)


@releases.command("show")
def show(number: Number, *, team: plugin_options.Team = "", output: options.Output = Format.YAML) -> None:
    """Show a release with its plugins and nodes.

    \b
    cpctl plugins releases show 1
    """
    release = server_mode.find_release(SESSION.api(), team, number)
    path = f"{server_mode.RELEASES}/{segment(str(release['id']))}"
    say(*document(SESSION.api().get(path).json(), output if output.is_whole else Format.YAML))


@releases.command("activate")
def activate(
    number: Number,
    *,
    team: plugin_options.Team = "",
    timeout: options.Timeout = 600.0,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Activate a release that was made with --manual, and wait until it is active.

    \b
    cpctl plugins releases activate 2
    """
    plugin_options.check_output(output)
    change = options.ChangeOptions(message, dry_run, yes)
    release = server_mode.find_release(SESSION.api(), team, number)
    change.ask(f"Activate release {number}?")
    done = _act(release, "activate", change)
    if dry_run:
        return change.tell(f"Release {number} would be active.")
    until = time.monotonic() + timeout
    progress = Progress(output)
    show_release(server_mode.wait_until_active(SESSION.api(), done, until, progress, is_manual=False), output)
    return None


@releases.command("cancel")
def cancel(
    number: Number,
    *,
    team: plugin_options.Team = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Cancel a release that is not active yet.

    \b
    cpctl plugins releases cancel 3
    """
    change = options.ChangeOptions(message, dry_run, yes)
    release = server_mode.find_release(SESSION.api(), team, number)
    change.ask(f"Cancel release {number}?")
    _act(release, "cancel", change)
    change.tell(f"Release {number} is canceled.")


def _act(release: Any, verb: str, change: options.ChangeOptions) -> Any:
    path = f"{server_mode.RELEASES}/{segment(str(release['id']))}:{verb}"
    return SESSION.api().post(path, query=change.query()).json()
