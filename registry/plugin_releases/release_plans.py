"""What a release takes over from the one before it, and what is to be fetched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from registry.plugins.documents.content import Configuration, to_document
from registry.plugins.releases import find_releases


class PluginChange(StrEnum):
    """What a release does with a plugin."""

    DOWNLOADED = "downloaded"
    # Another revision of the artifact that is there already.
    RELEASED = "released"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class EarlierPlugin:
    """A plugin of the release before. artifact: what can be taken over, of this identity; or None.

    usable: what it runs as, which can be older.
    """

    identity: str
    revision: str
    artifact: UUID | None
    usable: UUID | None = None


@dataclass(frozen=True, slots=True)
class PlannedPlugin:
    """A plugin of a new release. artifact: the one that it takes over; None if it is to be fetched.

    fallback: the artifact of the release before, which it keeps while its own cannot be fetched.
    """

    name: str
    provider: str
    entry: Mapping[str, Any]
    identity: str
    revision: str
    change: PluginChange
    artifact: UUID | None
    fallback: UUID | None


def plan_release(
    configuration: Configuration, earlier: Mapping[str, EarlierPlugin]
) -> tuple[PlannedPlugin, ...]:
    """Return every enabled plugin with what happens to it. earlier: by name, of the active release."""
    releases = find_releases(configuration)
    written = to_document(configuration)["plugins"]["plugins"]
    return tuple(
        _plan(entry, releases[entry["output"]].artifact, releases[entry["output"]].revision, earlier)
        for entry in written
        if entry["output"] in releases
    )


def _plan(
    entry: Mapping[str, Any], identity: str, revision: str, earlier: Mapping[str, EarlierPlugin]
) -> PlannedPlugin:
    before = earlier.get(entry["output"])
    is_same = before is not None and before.identity == identity and before.artifact is not None
    if before is None or not is_same:
        change = PluginChange.DOWNLOADED
    elif before.revision != revision:
        change = PluginChange.RELEASED
    else:
        change = PluginChange.UNCHANGED
    return PlannedPlugin(
        entry["output"],
        entry["provider"],
        entry,
        identity,
        revision,
        change,
        artifact=before.artifact if before and is_same else None,
        fallback=before.usable if before else None,
    )
