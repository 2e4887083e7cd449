"""What a team may read of the configuration files on the server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.access.team_models import Team
from registry.plugin_releases.folder_source import CURRENT, FAILING, OFF
from registry.plugin_releases.models import PluginFolder, PluginSet, PluginSource


@dataclass(frozen=True, slots=True)
class SourceState:
    """Where a configuration comes from. path, reader: for the platform alone."""

    origin: str
    state: str
    path: str = ""
    reader: str = ""
    read_at: datetime | None = None
    loaded_at: datetime | None = None
    problems: tuple[dict[str, Any], ...] = ()


def source_state(team: Team | None) -> SourceState:
    """Return the state of a set's files. A team sees its own file, the platform all of them."""
    origin = PluginSet.objects.filter(team=team).values_list("source", flat=True).first() or PluginSource.API
    row = PluginFolder.objects.first()
    if row is None:
        return SourceState(origin, OFF)
    problems = tuple(one for one in row.diagnostics if team is None or one["team"] == team.slug)
    is_unreadable = any(not one["file"] for one in row.diagnostics)
    if team is not None and origin == PluginSource.API and not problems:
        return SourceState(origin, OFF)
    return SourceState(
        origin,
        FAILING if problems or is_unreadable else CURRENT,
        path="" if team else row.path,
        reader="" if team else row.reader,
        read_at=row.read_at,
        loaded_at=row.loaded_at,
        problems=problems,
    )
