"""What changes between two plugin configurations: downloads, new revisions, removals. Pure.

An *artifact* is what is downloaded. A *release revision* is the artifact with everything that decides how it
runs. Another executor image therefore gives another revision of the same artifact without a download.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from registry.plugins.documents.canonical import digest
from registry.plugins.documents.content import Configuration, PluginEntry, to_document

# How an artifact is fetched: other values give the same bytes.
_FETCHING = frozenset({"auth", "caBundle", "timeout", "retries"})


@dataclass(frozen=True, slots=True)
class Release:
    """A plugin in a configuration. artifact, revision: SHA-256 in hexadecimal."""

    output: str
    artifact: str
    revision: str


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """Names of plugins by what happens to them, each sorted."""

    downloaded: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


def find_releases(configuration: Configuration) -> dict[str, Release]:
    """Return the releases of all enabled plugins by name."""
    document = to_document(configuration)["plugins"]
    providers = {provider["name"]: provider for provider in document["providers"]}
    pairs = zip(configuration.plugins, document["plugins"], strict=True)
    return {
        entry.output: _find_release(entry, written, providers[entry.provider], configuration.install_location)
        for entry, written in pairs
        if entry.enabled
    }


def compare_configurations(before: Configuration | None, after: Configuration) -> ReleaseChange:
    """Return what an installer does to get from one configuration to the other."""
    old = find_releases(before) if before else {}
    new = find_releases(after)
    kept = sorted(old.keys() & new.keys())
    same_artifact = [name for name in kept if old[name].artifact == new[name].artifact]
    return ReleaseChange(
        downloaded=tuple(sorted(new.keys() - set(same_artifact))),
        released=tuple(name for name in same_artifact if old[name].revision != new[name].revision),
        removed=tuple(sorted(old.keys() - new.keys())),
        unchanged=tuple(name for name in same_artifact if old[name].revision == new[name].revision),
    )


def _find_release(
    entry: PluginEntry, written: dict[str, Any], provider: dict[str, Any], install_location: str
) -> Release:
    artifact = digest([install_location, _identify_artifact(entry, written, provider)])
    return Release(entry.output, artifact, digest([artifact, written]))


def _identify_artifact(entry: PluginEntry, written: dict[str, Any], provider: dict[str, Any]) -> Any:
    """Return what decides the bytes of an artifact: its checksum, or else its whole address."""
    if entry.checksum:
        # The suffix decides how the same bytes are unpacked.
        return [entry.checksum, entry.path.rpartition("/")[2].partition(".")[2]]
    source = {name: value for name, value in provider.items() if name not in {*_FETCHING, "name"}}
    return [source, {name: value for name, value in written.items() if name in ("path", "version")}]
