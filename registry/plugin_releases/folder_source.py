"""Plugin configurations from PLUGIN_CONFIG_PATH, read again at every step of the installers.

A file that changes is a new version of its configuration, which is released at once. A file with errors
changes nothing: the last good configuration stays in force. One installer reads; the mounted files of the
others may be older for a minute, and would undo what the first one has read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.access.teams.teams import get_team
from controlplane.errors import ControlplaneError, InvalidRequest
from controlplane.identity.actors import Actor, system
from registry.plugin_releases.config_changes import write_config
from registry.plugin_releases.folder_files import FolderFile, FolderListing, read_files
from registry.plugin_releases.models import PluginFolder, PluginRelease, PluginSet, PluginSource
from registry.plugin_releases.release_changes import ReleaseTerms, create_release
from registry.plugins.documents.configuration import read_configuration

OFF, CURRENT, FAILING = "off", "current", "failing"
STATES = (OFF, CURRENT, FAILING)
_ACTOR = system("plugin-config-files")
# Without a sign of the installer that reads, another one takes over.
_SILENT = timedelta(seconds=30)
# So long after the last read, the API may write again: the setting was removed.
_ABANDONED = timedelta(minutes=10)
# What the files need may come later, such as a team.
_RETRY_SECONDS = 15.0
_MAX_DIAGNOSTICS = 200


class FolderSource:
    """The files as one installer reads them. `refresh` is called at each of its steps."""

    def __init__(self, reader: str, *, actor: Actor = _ACTOR, settled_seconds: float = 1.0) -> None:
        self.reader, self.actor, self.settled_seconds = reader, actor, settled_seconds
        self._tried: tuple[str, float] = ("", 0.0)

    def refresh(self) -> None:
        """Read the files, and release what has changed."""
        if not settings.PLUGIN_CONFIG_PATH:
            _hand_back()
            return
        path = Path(settings.PLUGIN_CONFIG_PATH)
        try:
            listing = read_files(path, settled_seconds=self.settled_seconds)
        except OSError as error:
            self._note_unreadable(f"PLUGIN_CONFIG_PATH cannot be read: {error.strerror or error}.")
            return
        if listing.is_settled and self._is_reader(str(path)) and self._is_due(listing.digest):
            self._load(listing)

    def _is_reader(self, path: str) -> bool:
        """Say that this installer reads, unless another one does."""
        PluginFolder.objects.bulk_create([PluginFolder(reader=self.reader, path=path)], ignore_conflicts=True)
        rows = PluginFolder.objects.filter(Q(reader=self.reader) | Q(read_at__lt=Now() - _SILENT))
        return bool(rows.update(reader=self.reader, path=path[:1000], read_at=Now()))

    def _is_due(self, digest: str) -> bool:
        is_loaded = PluginFolder.objects.filter(digest=digest, is_valid=True).exists()
        tried, at = self._tried
        return not is_loaded and (tried != digest or time.monotonic() - at >= _RETRY_SECONDS)

    def _load(self, listing: FolderListing) -> None:
        self._tried = (listing.digest, time.monotonic())
        diagnostics = [_problem(file, file.problem) for file in listing.problems]
        for file in listing.files.values():
            diagnostics += self._load_file(file)
        if not diagnostics:
            _leave_to_api(listing)
        changed: dict[str, Any] = {"loaded_at": Now()} if not diagnostics else {}
        PluginFolder.objects.filter(reader=self.reader).update(
            digest=listing.digest,
            diagnostics=diagnostics[:_MAX_DIAGNOSTICS],
            is_valid=not diagnostics,
            **changed,
        )

    def _load_file(self, file: FolderFile) -> list[dict[str, Any]]:
        """Write and release one configuration. What is wrong with it stops no other."""
        if file.problem:
            return [_problem(file, file.problem)]
        try:
            _write(get_team(file.team) if file.team else None, file.text, self.actor)
        except InvalidRequest as error:
            return list(_errors(file, error)) or [_problem(file, error.detail)]
        except ControlplaneError as error:
            return [_problem(file, error.detail, error.code)]
        return []

    def _note_unreadable(self, problem: str) -> None:
        """Without a new sign of this reader, so that another one takes over which can read."""
        self._tried = ("", 0.0)
        entry = _problem(FolderFile("", ""), problem)
        PluginFolder.objects.bulk_create(
            [PluginFolder(reader=self.reader, path=str(settings.PLUGIN_CONFIG_PATH)[:1000])],
            ignore_conflicts=True,
        )
        PluginFolder.objects.filter(reader=self.reader).update(diagnostics=[entry], is_valid=False, digest="")


@transaction.atomic
def _write(team: Team | None, text: str, actor: Actor) -> None:
    written = write_config(
        team, read_configuration(text), precondition=None, actor=actor, source=PluginSource.FOLDER
    )
    if not PluginRelease.objects.filter(config=written.config).exists():
        create_release(team, ReleaseTerms(), actor=actor)


def _leave_to_api(listing: FolderListing) -> None:
    """Let the API write the configurations whose file was removed. What is in force stays."""
    for plugin_set in PluginSet.objects.filter(source=PluginSource.FOLDER).select_related("team"):
        if (plugin_set.team.slug if plugin_set.team else "") not in listing.files:
            PluginSet.objects.filter(id=plugin_set.id).update(source=PluginSource.API)


def _hand_back() -> None:
    """Let the API write again, once no installer has read files for a while."""
    if PluginFolder.objects.filter(read_at__lt=Now() - _ABANDONED).delete()[0]:
        PluginSet.objects.filter(source=PluginSource.FOLDER).update(source=PluginSource.API)


def _errors(file: FolderFile, error: InvalidRequest) -> Iterator[dict[str, Any]]:
    for one in error.errors:
        entry = _problem(file, one.message, one.code)
        yield {**entry, "path": one.pointer, "hint": one.hint, "line": one.line, "column": one.column}


def _problem(file: FolderFile, message: str, code: str = "invalid_value") -> dict[str, Any]:
    return {
        "file": file.name,
        "team": file.team,
        "code": code,
        "path": "",
        "message": message[:1000],
        "hint": "",
        "line": 0,
        "column": 0,
    }
