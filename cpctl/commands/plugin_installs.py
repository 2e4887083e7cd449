"""The commands `plugins install` and `plugins sync`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options, plugin_options
from cpctl.commands.plugin_checks import diagnostic_lines, validated
from cpctl.contexts import Context
from cpctl.errors import CpctlError, UsageError
from cpctl.exits import Exit
from cpctl.output import Format, as_text, counted, note, say
from cpctl.plugins import server_mode
from cpctl.plugins.client_mode import ClientInstallation, Outcome, install_client
from cpctl.plugins.folders import ClientFolder, base_folder, folder_for
from cpctl.plugins.locks import DEFAULT_LOCK_FILE
from cpctl.plugins.modes import Mode, check_options
from cpctl.plugins.progress import Progress
from cpctl.session import SESSION

BestEffort = Annotated[
    bool, typer.Option("--best-effort", help="Install the others if one fails. Default: all or none.")
]


def install(
    *,
    config: Annotated[
        str,
        typer.Option("-c", "--config", metavar="FILE", help="Server mode: the configuration, or -."),
    ] = "",
    mode: plugin_options.ModeName = "",
    team: plugin_options.Team = "",
    locked: Annotated[
        bool,
        typer.Option(
            "--locked",
            help="Server mode: each plugin needs a checksum. Client mode: the lock file must be the server's"
            " lock.",
        ),
    ] = False,
    manual: Annotated[bool, typer.Option("--manual", help="Server mode: do not activate it.")] = False,
    min_active: Annotated[
        int | None, typer.Option(min=1, help="Server mode: nodes that must have it. Default: all.")
    ] = None,
    root: plugin_options.Root = "",
    lock: plugin_options.LockFile = "",
    mirror: plugin_options.Mirror = "",
    best_effort: BestEffort = False,
    timeout: options.Timeout = 600.0,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Release plugins on the server, or install the server's plugins on this machine.

    Server mode sends the configuration, makes a release, and waits until nodes have it. Without -c, the
    configuration that the server has is released. Client mode installs exactly what is active there.
    Exits with 1 if a plugin failed.

    \b
    cpctl plugins install -c plugin_config.yaml --mode server
    cpctl plugins install --mode client
    cpctl plugins install --mode client --root ./plugins --best-effort
    """
    plugin_options.check_output(output)
    chosen = plugin_options.mode_of(mode)
    check_options(
        chosen,
        server_only={"--config": bool(config), "--manual": manual, "--min-active": min_active is not None},
        client_only={
            "--root": bool(root),
            "--lock": bool(lock),
            "--mirror": bool(mirror),
            "--best-effort": best_effort,
        },
        command="install",
    )
    if chosen is Mode.SERVER:
        text = files.texts([config])[0][1] if config else ""
        installation = server_mode.ServerInstallation(team, text, message, locked, manual, min_active)
        change = options.ChangeOptions(message, dry_run, yes)
        return _release(installation, config, change, output, timeout)
    lock_file = Path(lock) if lock else DEFAULT_LOCK_FILE if locked else None
    place = _ClientPlace(team, root, mirror, lock_file, locked, best_effort, dry_run, timeout)
    _show(_install(place, None if mirror else SESSION.chosen(), output), output, is_dry_run=dry_run)
    return None


def sync(
    *,
    context: Annotated[
        list[str] | None, typer.Option(help="Context of a server. Repeatable. Default: the current one.")
    ] = None,
    team: plugin_options.Team = "",
    root: Annotated[
        str, typer.Option(help="Folder in which each server gets one. Default: below your home.")
    ] = "",
    best_effort: BestEffort = False,
    timeout: options.Timeout = 600.0,
    dry_run: options.DryRun = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Install the plugins of several servers on this machine, each in a folder of its own.

    A server that fails does not stop the others.

    \b
    cpctl plugins sync --context staging --context production
    """
    plugin_options.check_output(output)
    contexts = [SESSION.named(name) for name in context] if context else [SESSION.chosen()]
    base = Path(root).absolute() if root else base_folder()
    errors: list[int] = []
    for server in contexts:
        folder = str(folder_for(base, server.server, team))
        place = _ClientPlace(team, folder, "", None, False, best_effort, dry_run, timeout)
        try:
            _show(_install(place, server, output), output, is_dry_run=dry_run)
        except CpctlError as error:
            note("\n".join([f"{server.name or server.server}: {error.lines()[0]}", *error.lines()[1:]]))
            errors.append(error.exit)
        except typer.Exit as ended:
            errors.append(ended.exit_code)
    if errors:
        raise typer.Exit(errors[0])


@dataclass(frozen=True, slots=True)
class _ClientPlace:
    """The options of client mode."""

    team: str
    root: str
    mirror: str
    lock_file: Path | None
    must_match: bool
    is_best_effort: bool
    is_dry_run: bool
    timeout: float


def _install(place: _ClientPlace, context: Context | None, output: Format) -> Outcome:
    if place.mirror and not place.root:
        raise UsageError("With --mirror, no server says where plugins belong.", hint="add --root DIR")
    progress = Progress(output)
    downloader = plugin_options.downloader_for(context, progress, place.timeout)
    installation = ClientInstallation(
        origin=plugin_options.origin_for(place.mirror, place.team, downloader, context),
        team=place.team,
        folder=ClientFolder(Path(place.root).absolute())
        if place.root
        else plugin_options.folder_of("", place.team, context),
        lock_file=place.lock_file,
        must_match=place.must_match,
        is_best_effort=place.is_best_effort,
        is_dry_run=place.is_dry_run,
    )
    return install_client(installation, downloader, progress)


def _show(outcome: Outcome, output: Format, *, is_dry_run: bool) -> None:
    """Print what was done. Exits with 1 if a plugin failed."""
    facts: dict[str, Any] = {
        "folder": str(outcome.folder),
        "generation": outcome.generation,
        "installed": list(outcome.installed),
        "removed": list(outcome.removed),
        "unchanged": list(outcome.unchanged),
        "downloaded": outcome.downloaded,
        "failures": outcome.failures,
        "dry_run": is_dry_run,
    }
    changes = [f"+ {name}" for name in outcome.installed] + [f"- {name}" for name in outcome.removed]
    if output is Format.JSON:
        Progress(output).event("finished", "", **facts)
    else:
        say(*changes, _summary(outcome, is_dry_run=is_dry_run))
        for name, problem in sorted(outcome.failures.items()):
            note(as_text(f"{name}: {problem}"))
    if outcome.failures:
        raise typer.Exit(Exit.DIFFERS)


def _summary(outcome: Outcome, *, is_dry_run: bool) -> str:
    if not (outcome.installed or outcome.removed or outcome.failures):
        return f"{outcome.folder}: {counted(len(outcome.unchanged), 'plugin')}, up to date."
    counts = f"{len(outcome.installed)} installed, {len(outcome.removed)} removed"
    rest = f"{len(outcome.unchanged)} unchanged, {len(outcome.failures)} failed"
    text = f"{outcome.folder}: {counts}, {rest}; {outcome.downloaded:,} bytes downloaded."
    return f"Dry run: {text}" if is_dry_run else text


def _release(
    installation: server_mode.ServerInstallation,
    file: str,
    change: options.ChangeOptions,
    output: Format,
    timeout: float,
) -> None:
    api, progress = SESSION.api(), Progress(output)
    if installation.text:
        _send(installation, file, change, progress)
    elif installation.is_locked:
        configuration, _ = server_mode.current_configuration(api, installation.team)
        if configuration:
            server_mode.require_checksums(configuration["document"])
    if change.dry_run:
        return
    if not installation.text:
        change.ask("Release the plugins of the server's configuration?")
    release = server_mode.create_release(api, installation)
    until = time.monotonic() + timeout
    release = server_mode.wait_until_active(api, release, until, progress, is_manual=installation.is_manual)
    show_release(release, output)


def _send(
    installation: server_mode.ServerInstallation, file: str, change: options.ChangeOptions, progress: Progress
) -> None:
    """Validate the configuration, show its changes, ask, and store it."""
    validation = validated(installation.text)
    for line in diagnostic_lines(file, validation):
        note(line)
    if not validation["valid"]:
        raise typer.Exit(Exit.USAGE)
    if installation.is_locked:
        server_mode.require_checksums(validation["document"])
    current, _ = server_mode.current_configuration(SESSION.api(), installation.team)
    changes = server_mode.document_changes(current["document"] if current else None, validation["document"])
    for line in changes:
        progress.event("change", line, change=line[:1], plugin=line[2:])
    owner = installation.team or (current["team"] if current else None)
    change.ask(f"Release these plugins{f' for team {owner}' if owner else ''}?")
    _, stored = server_mode.send_configuration(
        SESSION.api(), installation, validation, dry_run=change.dry_run
    )
    version = stored["version"] if stored else current["version"] if current else 0
    text = (
        f"Configuration {version} is stored." if stored else f"The server has it as configuration {version}."
    )
    progress.event("configuration", f"Dry run: {text}" if change.dry_run else text, version=version)


def show_release(release: Any, output: Format) -> None:
    """Print a release after waiting. Exits with 1 if a plugin is degraded."""
    if output is Format.JSON:
        Progress(output).event("finished", "", release=release)
    else:
        number, team = release["number"], f" --team {release['team']}" if release.get("team") else ""
        say(f"Release {number} is {release['state']}: {counted(len(release['plugins']), 'plugin')}.")
        if release["state"] == "ready":
            SESSION.tell(f"try: cpctl plugins releases activate {number}{team}")
    degraded = [plugin for plugin in release["plugins"] if plugin.get("problem")]
    for plugin in degraded:
        note(as_text(f"{plugin['name']} is degraded: {plugin['problem']}"))
    if degraded:
        raise typer.Exit(Exit.DIFFERS)
