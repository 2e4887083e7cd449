"""The list of installed plugins. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from plugin_store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class ListedPlugin:
    """One row of the list."""

    name: str
    version: str
    provider: str
    state: str
    digest: str
    problem: str


def listed_plugins(manifest: Manifest, damaged: Collection[str] = ()) -> tuple[ListedPlugin, ...]:
    """The active plugins by name; `damaged` names those whose files have changed."""
    return tuple(
        ListedPlugin(
            name=plugin.name,
            version=plugin.version,
            provider=plugin.provider,
            state="damaged" if plugin.name in damaged else str(plugin.state),
            digest=f"sha256:{plugin.sha256}",
            problem=plugin.problem,
        )
        for plugin in manifest.current.plugins
    )
