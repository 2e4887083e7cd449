"""The manifest: which folders are the plugins now, which were before, and which nothing uses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from plugin_store.errors import UnknownGeneration
from plugin_store.json_documents import Fields, object_of, write_document
from plugin_store.names import check_folder, check_plugin_name, check_sha256

MANIFEST_FILE_NAME = "manifest.json"
MANIFEST_VERSION = 1


class PluginState(StrEnum):
    """A degraded plugin is its previous version, because the wanted one failed."""

    ACTIVE = "active"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """A plugin of a generation. `folder` is below `store/`; `problem` is why it is degraded."""

    name: str
    version: str
    provider: str
    folder: str
    size: int
    sha256: str
    tree: str
    signed_by: str
    unverified_reason: str
    installed_at: str
    state: PluginState = PluginState.ACTIVE
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """A set of plugins that are active together."""

    number: int
    created_at: str
    plugins: tuple[InstalledPlugin, ...]

    def plugin(self, name: str) -> InstalledPlugin | None:
        return next((plugin for plugin in self.plugins if plugin.name == name), None)


@dataclass(frozen=True, slots=True)
class StoredFolder:
    """A folder that the store wrote, or was about to write, and that no generation uses."""

    folder: str
    tree: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole state of a store. Every folder that it ever wrote is named here until it is removed."""

    active: int = 0
    generations: tuple[Generation, ...] = ()
    unused: tuple[StoredFolder, ...] = ()

    @property
    def current(self) -> Generation:
        """The active generation; one without plugins before the first installation."""
        return self.generation(self.active) or Generation(0, "", ())

    def generation(self, number: int) -> Generation | None:
        return next((generation for generation in self.generations if generation.number == number), None)

    def folders(self) -> dict[str, StoredFolder]:
        """The folders that generations use."""
        return {
            plugin.folder: StoredFolder(plugin.folder, plugin.tree)
            for generation in self.generations
            for plugin in generation.plugins
        }

    def announce(self, folders: Iterable[StoredFolder]) -> Manifest:
        """Name folders before they are written, so that a crash leaves nothing that nobody names."""
        return replace(self, unused=_unused(self.folders(), (*self.unused, *folders)))

    def forget(self, folders: Iterable[str]) -> Manifest:
        """No longer name unused folders, which were removed."""
        removed = set(folders)
        return replace(self, unused=tuple(item for item in self.unused if item.folder not in removed))

    def switch(self, plugins: Iterable[InstalledPlugin], *, created_at: str, keep: int) -> Manifest:
        """Make a new generation active and keep `keep` older ones; folders of others become unused.

        The generation that was active is kept first: after a rollback it is not the newest.
        """
        number = max((generation.number for generation in self.generations), default=0) + 1
        added = Generation(number, created_at, tuple(sorted(plugins, key=lambda plugin: plugin.name)))
        by_worth = sorted(self.generations, key=lambda item: (item.number == self.active, item.number))
        older = sorted(by_worth[max(0, len(by_worth) - keep) :], key=lambda item: item.number)
        following = Manifest(number, (*older, added))
        unused = (*self.unused, *self.folders().values())
        return replace(following, unused=_unused(following.folders(), unused))

    def roll_back(self, number: int | None = None) -> Manifest:
        """Make an older generation active: the one of this number, or the one before the active one."""
        older = [generation.number for generation in self.generations if generation.number < self.active]
        target = number if number is not None else max(older, default=0)
        if self.generation(target) is None:
            numbers = ", ".join(str(generation.number) for generation in self.generations) or "none"
            raise UnknownGeneration(
                f"There is no generation {target} to roll back to."
                if number is not None
                else "There is no older generation to roll back to.",
                why=f"These generations are kept: {numbers}.",
                advice="Choose one of them, or install the wanted versions again.",
            )
        return replace(self, active=target)


def _unused(used: Mapping[str, StoredFolder], folders: Iterable[StoredFolder]) -> tuple[StoredFolder, ...]:
    by_name = {item.folder: item for item in folders if item.folder not in used}
    return tuple(by_name[name] for name in sorted(by_name))


def read_manifest(text: bytes) -> Manifest:
    """Read a manifest strictly; raises InvalidDocument."""
    with Fields.parse(MANIFEST_FILE_NAME, text).complete() as fields:
        fields.version("manifestVersion", MANIFEST_VERSION)
        manifest = Manifest(
            active=fields.number("active"),
            generations=tuple(_read_generation(item) for item in fields.objects("generations")),
            unused=tuple(_read_folder(item) for item in fields.objects("unused")),
        )
        numbers = [generation.number for generation in manifest.generations]
        if numbers != sorted(set(numbers)):
            raise fields.refuse("generations", "is not in ascending order")
        if manifest.active and manifest.active not in numbers:
            raise fields.refuse("active", "names a generation that is not there")
        return manifest


def _read_generation(item: Fields) -> Generation:
    with item.complete() as fields:
        plugins = tuple(_read_plugin(plugin) for plugin in fields.objects("plugins"))
        if len({plugin.name for plugin in plugins}) < len(plugins):
            raise fields.refuse("plugins", "names a plugin twice")
        return Generation(fields.number("number"), fields.text("createdAt"), plugins)


def _read_plugin(item: Fields) -> InstalledPlugin:
    with item.complete() as fields:
        plugin = InstalledPlugin(
            name=fields.text("name", check_plugin_name),
            version=fields.text("version"),
            provider=fields.text("provider"),
            folder=fields.text("folder", check_folder),
            size=fields.number("size"),
            sha256=fields.text("sha256", check_sha256),
            tree=fields.text("tree", check_sha256),
            signed_by=fields.text("signedBy"),
            unverified_reason=fields.text("unverifiedReason"),
            installed_at=fields.text("installedAt"),
            state=_read_state(fields),
            problem=fields.text("problem"),
        )
        if not plugin.folder.startswith(f"{plugin.name}/"):
            raise fields.refuse("folder", "is the folder of another plugin")
        return plugin


def _read_state(fields: Fields) -> PluginState:
    text = fields.text("state")
    if text not in set(PluginState):
        raise fields.refuse("state", f"is {text!r}")
    return PluginState(text)


def _read_folder(item: Fields) -> StoredFolder:
    with item.complete() as fields:
        return StoredFolder(fields.text("folder", check_folder), fields.text("tree", check_sha256))


def write_manifest(manifest: Manifest) -> bytes:
    """Write a manifest canonically."""
    return write_document({"manifestVersion": MANIFEST_VERSION, **object_of(manifest)})
