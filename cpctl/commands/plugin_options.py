"""Options of the commands `plugins`, and what follows from them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from cpctl.contexts import Context
from cpctl.errors import UsageError
from cpctl.output import Format
from cpctl.plugins.archives import ArchiveOrigin, FolderMirror, HttpMirror, ServerOrigin
from cpctl.plugins.downloads import Downloader
from cpctl.plugins.folders import ClientFolder, base_folder, folder_for
from cpctl.plugins.modes import MODE_VARIABLE, Mode, chosen_mode
from cpctl.plugins.progress import Progress
from cpctl.session import SESSION

ModeName = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="server|client",
        help=f"The server's plugins, or those of this machine. Default: {MODE_VARIABLE}, or the context's.",
    ),
]
Team = Annotated[str, typer.Option(help="Plugins of this team. Default: those of the platform.")]
Root = Annotated[
    str, typer.Option(help="Folder of the plugins. Default: one for each server and team, below your home.")
]
Mirror = Annotated[
    str, typer.Option(metavar="DIR|URL", help="Use this mirror, and no server: archives and lock.")
]
LockFile = Annotated[
    str, typer.Option("--lock", metavar="FILE", help="Install exactly this lock, not the server's.")
]


def mode_of(option: str) -> Mode:
    """Return the mode by the option, the environment or the context. Raises UsageError."""
    variable = os.environ.get(MODE_VARIABLE, "")
    context = "" if option or variable else SESSION.plugin_mode()
    return chosen_mode(option, variable, context)


def folder_of(root: str, team: str, context: Context | None = None) -> ClientFolder:
    """Return the folder of --root, or else that of the server and the team."""
    if root:
        return ClientFolder(Path(root).absolute())
    server = (context or SESSION.chosen()).server
    return ClientFolder(folder_for(base_folder(), server, team))


def downloader_for(context: Context | None, progress: Progress, timeout: float) -> Downloader:
    """Return what fetches archives. context: the server that gets its token; None for a mirror."""
    token = context.token if context else ""
    return Downloader(
        server=context.server if context else "",
        authorization=f"Bearer {token}" if token else "",
        until=time.monotonic() + timeout,
        trace=SESSION.trace(),
        add_bytes=progress.add_bytes,
    )


def origin_for(mirror: str, team: str, downloader: Downloader, context: Context | None) -> ArchiveOrigin:
    """Return where the lock and the archives come from."""
    if mirror.startswith(("http://", "https://")):
        return HttpMirror(mirror, team, downloader)
    if mirror:
        return FolderMirror(Path(mirror).absolute(), team)
    return ServerOrigin(SESSION.api(context), team)


def check_output(output: Format) -> None:
    """Refuse formats that progress does not have."""
    if output not in (Format.TABLE, Format.JSON):
        raise UsageError("Progress is shown as text, or as one JSON object a line.", hint="use -o json")
