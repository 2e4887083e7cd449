"""Lock files: read, compared with the server's lock, and updated."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from cpctl.errors import NotFound, UsageError
from plugin_store.lock_document import (
    LOCK_FILE_NAME,
    Difference,
    ExpectedPlugin,
    LockDocument,
    differences,
    merged_plugins,
)
from plugin_store.names import version_of

DEFAULT_LOCK_FILE = Path(LOCK_FILE_NAME)


def read_lock_file(path: Path) -> bytes:
    """Return the text of a lock file. Raises NotFound."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"The lock {path} does not exist.", hint=f"cpctl plugins lock -o {path}") from error


def lock_differences(written: LockDocument, served: LockDocument) -> list[str]:
    """Return how a lock file differs from the server's lock, one line each."""
    by_name = {plugin.name: plugin for plugin in (*written.plugins, *served.plugins)}
    expected = [
        ExpectedPlugin(plugin.name, plugin.provider, plugin.config_hash, sha256=plugin.sha256)
        for plugin in served.plugins
    ]
    versions = {plugin.name: version_of(plugin.version, plugin.sha256) for plugin in served.plugins}
    by_plugin = differences(written, expected)
    return [_line(one, versions.get(one.plugin, "")) for one in by_plugin if one.plugin in by_name]


def _line(difference: Difference, version: str) -> str:
    match difference.field:
        case "name" if difference.locked is None:
            return f"{difference.plugin} {version} is not in the file"
        case "name":
            return f"{difference.plugin} is in the file only"
        case "sha256":
            return f"{difference.plugin}: the server has {version}, with another digest"
        case "config_hash":
            return f"{difference.plugin}: its configuration has changed"
    return str(difference)


def updated_lock(
    written: LockDocument | None, served: LockDocument, upgrade: frozenset[str] | None
) -> LockDocument:
    """Return the new content of a lock file. upgrade: the plugins to upgrade; None for all.

    Plugins that the server no longer has are dropped, and new ones are added.
    """
    names = {plugin.name for plugin in served.plugins}
    if unknown := sorted((upgrade or frozenset()) - names):
        raise UsageError(
            f"The server has no plugin {unknown[0]!r}. Plugins: {', '.join(sorted(names)) or 'none'}.",
            hint="cpctl plugins list --mode server",
        )
    if written is None:
        return served
    return replace(served, plugins=merged_plugins(written.plugins, served.plugins, upgrade=upgrade))


def changed_lines(written: LockDocument | None, updated: LockDocument) -> list[str]:
    """Return one line for each plugin that changes in the file."""
    before = {plugin.name: plugin for plugin in written.plugins} if written else {}
    after = {plugin.name: plugin for plugin in updated.plugins}
    lines = [f"- {name}" for name in before.keys() - after.keys()]
    for name, plugin in after.items():
        version = version_of(plugin.version, plugin.sha256)
        if name not in before:
            lines.append(f"+ {name} {version}")
        elif before[name] != plugin:
            lines.append(f"~ {name} {version_of(before[name].version, before[name].sha256)} -> {version}")
    return sorted(lines, key=lambda line: line[2:])


def write_file(path: Path, content: bytes) -> None:
    """Replace a file atomically."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    temporary.write_bytes(content)
    os.replace(temporary, path)
