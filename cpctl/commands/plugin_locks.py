"""The commands `plugins lock` and `plugins mirror`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpctl.commands import options, plugin_options
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, counted, say
from cpctl.plugins.archives import ServerOrigin
from cpctl.plugins.locks import (
    DEFAULT_LOCK_FILE,
    changed_lines,
    lock_differences,
    read_lock_file,
    updated_lock,
    write_file,
)
from cpctl.plugins.mirrors import MirroredLock, write_mirror
from cpctl.plugins.progress import Progress
from cpctl.plugins.store_errors import as_command_errors
from cpctl.session import SESSION
from plugin_store.lock_document import LockDocument, read_lock, write_lock


def lock(
    plugin: Annotated[
        list[str] | None, typer.Argument(metavar="[PLUGIN]...", help="Only these, with --upgrade.")
    ] = None,
    *,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Take over the server's versions of plugins in the file, too.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only compare. Exits with 1 if the file and the server differ.")
    ] = False,
    team: plugin_options.Team = "",
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The lock file.")] = str(
        DEFAULT_LOCK_FILE
    ),
) -> None:
    """Write the server's lock to a file, for `install --lock` and `install --locked`.

    Plugins that are in the file stay as they are, unless --upgrade names them or names none. New plugins
    are added, and those that the server no longer has are removed.

    \b
    cpctl plugins lock
    cpctl plugins lock --upgrade bq2bq
    cpctl plugins lock --check
    """
    if check and (upgrade or plugin):
        raise UsageError("--check changes nothing: use it alone.")
    if plugin and not upgrade:
        raise UsageError("Names of plugins need --upgrade.", hint=f"cpctl plugins lock --upgrade {plugin[0]}")
    path = Path(file)
    with as_command_errors():
        served = read_lock(ServerOrigin(SESSION.api(), team).lock(None).text)
        if check:
            return _check(path, served)
        written = read_lock(path.read_bytes()) if path.exists() else None
        names = frozenset(plugin) if plugin else None if upgrade else frozenset[str]()
        updated = updated_lock(written, served, names)
        lines = changed_lines(written, updated)
        write_file(path, write_lock(updated))
    say(*lines, f"{path}: {counted(len(updated.plugins), 'plugin')}, {len(lines)} changed.")
    return None


def _check(path: Path, served: LockDocument) -> None:
    lines = lock_differences(read_lock(read_lock_file(path)), served)
    say(*lines, f"{path}: {len(lines)} differences." if lines else f"{path} is the server's lock.")
    if lines:
        raise typer.Exit(Exit.DIFFERS)


def mirror(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the mirror.")],
    *,
    team: plugin_options.Team = "",
    lock: Annotated[
        str, typer.Option("--lock", metavar="FILE", help="Mirror this lock, not the server's.")
    ] = "",
    timeout: options.Timeout = 3600.0,
    output: options.Output = Format.TABLE,
) -> None:
    """Copy the archives of the lock to a folder, from which `install --mirror` works without the server.

    The folder also works behind any web server. A second run fetches only what is new.

    \b
    cpctl plugins mirror ./mirror
    """
    plugin_options.check_output(output)
    progress = Progress(output)
    context = SESSION.chosen()
    downloader = plugin_options.downloader_for(context, progress, timeout)
    origin = ServerOrigin(SESSION.api(), team)
    with as_command_errors():
        text = read_lock_file(Path(lock)) if lock else origin.lock(None).text
    outcome = write_mirror(Path(folder), origin, MirroredLock(team, text), downloader, progress)
    facts = {
        "folder": str(outcome.folder),
        "plugins": outcome.plugins,
        "downloaded": outcome.downloaded,
        "bytes": outcome.bytes,
    }
    if output is Format.JSON:
        return progress.event("finished", "", **facts)
    say(f"{folder}: {counted(outcome.plugins, 'plugin')}; {counted(outcome.downloaded, 'archive')} fetched.")
    return None
