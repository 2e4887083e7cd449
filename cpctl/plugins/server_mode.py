"""Releases plugins on a server: sends the configuration, makes a release, and waits until nodes have it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpctl.errors import ApiError, Conflicting, Failed, NotFound, TimedOut, UsageError
from cpctl.output import Item
from cpctl.paths import segment
from cpctl.plugins.progress import Progress

if TYPE_CHECKING:
    from cpctl.client import Api

_CONFIG = "plugin-config"
RELEASES = "plugin-releases"
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ServerInstallation:
    """What to release. text: the configuration; empty for the one that the server has."""

    team: str
    text: str
    message: str = ""
    is_locked: bool = False
    is_manual: bool = False
    min_active: int | None = None


def send_configuration(
    api: Api, installation: ServerInstallation, validation: Item, *, dry_run: bool
) -> tuple[Item | None, Item | None]:
    """Store a configuration unless the server has it already. Return the one before and the new one."""
    current, etag = current_configuration(api, installation.team)
    if current and current.get("digest") == validation["digest"] and not validation["secrets"]:
        return current, None
    headers = {"If-Match": etag} if etag else {"If-None-Match": "*"}
    query = {"team": installation.team, "change_message": installation.message, "dry_run": dry_run}
    body = {"text": installation.text}
    return current, api.send("PUT", _CONFIG, body, query=query, headers=headers).json()


def current_configuration(api: Api, team: str) -> tuple[Item | None, str]:
    """Return the configuration and its ETag; None and an empty text before the first one."""
    try:
        answer = api.get(_CONFIG, {"team": team})
    except ApiError as error:
        if error.status != 404:
            raise
        return None, ""
    return answer.json(), answer.etag


def require_checksums(document: Item) -> None:
    """Refuse a configuration that allows other bytes tomorrow than today. Raises UsageError."""
    entries = [entry for entry in document["plugins"]["plugins"] if entry.get("enabled", True)]
    if names := [entry["output"] for entry in entries if not entry.get("checksum")]:
        raise UsageError(
            f"These plugins have no checksum, which --locked requires: {', '.join(names)}.",
            hint="add `checksum: sha256:HEX` to each of them, as sha256sum prints it",
        )


def document_changes(before: Item | None, after: Item) -> list[str]:
    """Return one line for each plugin that another configuration adds, changes or removes."""
    old, new = _entries(before), _entries(after)
    lines = [f"+ {_named(entry)}" for name, entry in new.items() if name not in old]
    lines += [f"- {_named(entry)}" for name, entry in old.items() if name not in new]
    lines += [f"~ {_named(entry)}" for name, entry in new.items() if name in old and old[name] != entry]
    return sorted(lines, key=lambda line: line[2:])


def _entries(document: Item | None) -> dict[str, Item]:
    return {entry["output"]: entry for entry in document["plugins"]["plugins"]} if document else {}


def _named(entry: Item) -> str:
    return f"{entry['output']} {entry.get('version', '')}".rstrip()


def with_updates(plugins: list[Item], configuration: Item | None) -> list[Item]:
    """Return plugins with `update`: the version that the configuration has and no release has yet.

    By checksum; without one in the configuration, by version. Plugins of other teams have none.
    """
    entries = _entries(configuration["document"]) if configuration else {}
    team = configuration["team"] if configuration else None
    return [
        {**plugin, "update": _update(plugin, entries[plugin["name"]])}
        if plugin["team"] == team and plugin["name"] in entries
        else {**plugin, "update": ""}
        for plugin in plugins
    ]


def _update(plugin: Item, entry: Item) -> str:
    checksum, version = str(entry.get("checksum") or ""), str(entry.get("version") or "")
    if checksum.startswith("sha256:"):
        is_same = checksum.removeprefix("sha256:") == plugin["sha256"]
    else:
        is_same = not version or version == plugin["version"]
    return "" if is_same else version or checksum[:19]


def create_release(api: Api, installation: ServerInstallation) -> Any:
    """Make a release of the current configuration."""
    body = {
        "activate": "manual" if installation.is_manual else "automatic",
        **({} if installation.min_active is None else {"min_active": installation.min_active}),
    }
    query = {"team": installation.team, "change_message": installation.message}
    return api.post(RELEASES, body, query=query).json()


def wait_until_active(
    api: Api,
    release: Item,
    until: float,
    progress: Progress,
    *,
    is_manual: bool,
    is_rollback: bool = False,
) -> Any:
    """Return the release once it is active, or ready if somebody is to activate it.

    Raises Failed, Conflicting if another release became active instead, and TimedOut.
    """
    lines: dict[str, str] = {}
    current: Any = release
    for current in _versions(api, release, until):
        _report(current, lines, progress)
        state = current["state"]
        if state == "active" or (is_manual and state == "ready"):
            progress.end()
            return current
        if state == "failed":
            raise Failed(
                f"Release {current['number']} failed. {problems(current)}".rstrip(), hint=_hint(current)
            )
        if state == "superseded" and not (is_rollback and current is release):
            raise Conflicting(
                f"Another release became active instead of release {current['number']}.",
                hint="cpctl plugins releases list",
            )
    raise TimedOut(
        f"Timed out: release {current['number']} is {current['state']}; {_nodes(current)}."
        f" {problems(current)}".rstrip(),
        hint=_hint(current),
    )


def _versions(api: Api, release: Item, until: float) -> Iterator[Any]:
    """Yield a release as it is, and then each second until the time is up."""
    yield release
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(_PAUSE_SECONDS, left))
        yield api.get(f"{RELEASES}/{segment(str(release['id']))}").json()


def _report(release: Item, lines: dict[str, str], progress: Progress) -> None:
    """Show what has changed since the last look."""
    number = release["number"]
    waiting = f", {release['waiting_for']}" if release.get("waiting_for") else ""
    now = {f"release {number}": f"{release['state']}{waiting}"}
    now |= {f"plugin {plugin['name']}": _plugin_state(plugin) for plugin in release["plugins"]}
    now |= {f"node {node['name']}": node["state"] for node in release.get("nodes", ())}
    for subject, state in now.items():
        if lines.get(subject) != state:
            kind, _, name = subject.partition(" ")
            progress.event(kind, f"{subject}: {state}", name=name, state=state)
    lines.update(now)
    progress.state(f"Release {number} is {release['state']}; {_nodes(release)}")


def _plugin_state(plugin: Item) -> str:
    problem = f", {plugin['problem']}" if plugin.get("problem") else ""
    return f"{plugin['state']}{problem}"


def _nodes(release: Item) -> str:
    """Return how far the nodes are, and what it waits for."""
    text = f"{release['nodes_ready']} of {release['nodes_required']} nodes have it"
    return f"{text}; {release['waiting_for']}" if release.get("waiting_for") else text


def problems(release: Item) -> str:
    """Return why plugins are degraded, as one text."""
    return " ".join(
        f"{plugin['name']}: {plugin['problem']}" for plugin in release["plugins"] if plugin.get("problem")
    )


def _hint(release: Item) -> str:
    return f"cpctl plugins releases show {release['number']}"


def team_of(api: Api, team: str) -> str:
    """Return the team whose plugins a request without a team is about; empty for the platform.

    Somebody who reaches one team alone means that one. Raises ApiError.
    """
    if team:
        return team
    current, _ = current_configuration(api, "")
    return str(current["team"] or "") if current else ""


def releases_of(api: Api, team: str) -> Iterator[Any]:
    """Yield the releases of one team or of the platform, newest first."""
    owner = team_of(api, team)
    rows = api.items(RELEASES, {"team": owner})
    return (release for release in rows if (release["team"] or "") == owner)


def find_release(api: Api, team: str, number: int) -> Any:
    """Return the release of this number. Raises NotFound."""
    for release in releases_of(api, team):
        if release["number"] == number:
            return release
    raise NotFound(f"There is no release {number}.", hint="cpctl plugins releases list")


def release_before(releases: list[Item]) -> Item:
    """Return the release to roll back to: the newest that was active before the active one."""
    active = next((release["number"] for release in releases if release["state"] == "active"), None)
    older = [
        release
        for release in releases
        if release["state"] == "superseded"
        and (active is None or release["number"] < active)
        and release.get("activated_at", True)
    ]
    if not older:
        raise UsageError(
            "No earlier release was active, so there is nothing to roll back to.",
            hint="cpctl plugins releases list",
        )
    return max(older, key=lambda release: int(release["number"]))
