"""The lock, `plugins.lock.json`: what exactly is to be installed, and how a configuration differs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from plugin_store.errors import InvalidName, LockDrift
from plugin_store.json_documents import Fields, object_of, write_document
from plugin_store.names import check_plugin_name, check_sha256

LOCK_FILE_NAME = "plugins.lock.json"
LOCK_VERSION = 1


@dataclass(frozen=True, slots=True)
class LockedSignature:
    """Who signed an archive, and how."""

    method: str
    key: str


@dataclass(frozen=True, slots=True)
class LockedPlugin:
    """One plugin of the lock. `version` is absent where the archive has none; `url` never has credentials."""

    name: str
    version: str | None
    provider: str
    url: str
    size: int
    sha256: str
    tree: str
    platform: str
    signature: LockedSignature | None
    fetched_at: str
    config_hash: str


@dataclass(frozen=True, slots=True)
class LockDocument:
    """The lock as a whole. `generated_by` and times are not compared."""

    generated_by: str
    config_hash: str
    plugins: tuple[LockedPlugin, ...]


@dataclass(frozen=True, slots=True)
class ExpectedPlugin:
    """What a configuration states about a plugin. Fields that are None are not compared."""

    name: str
    provider: str
    config_hash: str
    version: str | None = None
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between lock and configuration; a plugin that is missing has the field `name`."""

    plugin: str
    field: str
    locked: str | None
    expected: str | None

    def __str__(self) -> str:
        if self.field == "name":
            return f"{self.plugin} is {'missing in the lock' if self.locked is None else 'in the lock only'}"
        return (
            f"{self.plugin}: {self.field} is {self.locked!r} in the lock, but {self.expected!r} is expected"
        )


def read_lock(text: bytes) -> LockDocument:
    """Read a lock strictly; raises InvalidDocument."""
    with Fields.parse(LOCK_FILE_NAME, text).complete() as fields:
        fields.version("lockVersion", LOCK_VERSION)
        plugins = tuple(_read_plugin(plugin) for plugin in fields.objects("plugins"))
        if len({plugin.name for plugin in plugins}) < len(plugins):
            raise fields.refuse("plugins", "names a plugin twice")
        return LockDocument(fields.text("generatedBy"), fields.text("configHash", check_sha256), plugins)


def _read_plugin(plugin: Fields) -> LockedPlugin:
    with plugin.complete() as fields:
        return LockedPlugin(
            name=fields.text("name", check_plugin_name),
            version=fields.optional_text("version"),
            provider=fields.text("provider"),
            url=fields.text("url", check_url),
            size=fields.number("size"),
            sha256=fields.text("sha256", check_sha256),
            tree=fields.text("tree", check_sha256),
            platform=fields.text("platform"),
            signature=_read_signature(fields.optional_object("signature")),
            fetched_at=fields.text("fetchedAt"),
            config_hash=fields.text("configHash", check_sha256),
        )


def _read_signature(signature: Fields | None) -> LockedSignature | None:
    if signature is None:
        return None
    with signature.complete() as fields:
        return LockedSignature(fields.text("method"), fields.text("key"))


def write_lock(lock: LockDocument) -> bytes:
    """Write a lock canonically: the same plugins always give the same bytes."""
    for plugin in lock.plugins:
        check_plugin_name(plugin.name)
        check_url(plugin.url)
    plugins = sorted(lock.plugins, key=lambda plugin: plugin.name)
    return write_document({"lockVersion": LOCK_VERSION, **object_of(replace(lock, plugins=tuple(plugins)))})


def check_url(url: str) -> str:
    """Return a URL that may be in a lock, or raise InvalidName: credentials are in user info and queries."""
    parts = urlsplit(url)
    if not (parts.username or parts.password or "@" in parts.netloc or parts.query or parts.fragment):
        return url
    raise InvalidName(
        "Invalid URL of a plugin.",
        why="It has user info, a query or a fragment, which may be credentials.",
        advice="Write it by without_credentials.",
    )


def without_credentials(url: str) -> str:
    """A URL as the lock names it: without user info, query and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def differences(lock: LockDocument, expected: Iterable[ExpectedPlugin]) -> tuple[Difference, ...]:
    """Every difference between a lock and a configuration, by plugin."""
    locked = {plugin.name: plugin for plugin in lock.plugins}
    by_name = {plugin.name: plugin for plugin in expected}
    drift: list[Difference] = []
    for name in sorted(locked.keys() | by_name.keys()):
        if name in locked and name in by_name:
            drift += _differences_of(locked[name], by_name[name])
        else:
            drift.append(
                Difference(name, "name", name if name in locked else None, name if name in by_name else None)
            )
    return tuple(drift)


def _differences_of(locked: LockedPlugin, expected: ExpectedPlugin) -> list[Difference]:
    pairs = [
        (field, getattr(locked, field), getattr(expected, field))
        for field in ("provider", "config_hash", "version", "url", "sha256")
    ]
    return [
        Difference(locked.name, field, before, after)
        for field, before, after in pairs
        if after is not None and before != after
    ]


def require_no_drift(lock: LockDocument, expected: Iterable[ExpectedPlugin]) -> None:
    """Raise LockDrift unless the lock describes exactly the expected plugins."""
    if drift := differences(lock, expected):
        raise LockDrift(
            "Nothing was installed, because the lock and the configuration differ.",
            why="; ".join(map(str, drift)) + ".",
            advice="Update the lock, review its changes, and install again.",
        )


def merged_plugins(
    previous: Sequence[LockedPlugin], resolved: Sequence[LockedPlugin], *, upgrade: frozenset[str] | None
) -> tuple[LockedPlugin, ...]:
    """The plugins of a new lock: a plugin that `upgrade` does not name stays as it was; None upgrades all."""
    before = {plugin.name: plugin for plugin in previous}
    return tuple(
        plugin if upgrade is None or plugin.name in upgrade else before.get(plugin.name, plugin)
        for plugin in resolved
    )
