"""The commands `plugins list`, `plugins verify` and `plugins clean`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.columns import field
from cpctl.commands import options, plugin_options
from cpctl.errors import CpctlError, UsageError
from cpctl.exits import Exit
from cpctl.output import Column, Format, Item, counted, document, listing, say
from cpctl.plugins.archives import ServerOrigin
from cpctl.plugins.folders import STATE_FOLDER, ClientFolder
from cpctl.plugins.installation_plan import drift_lines
from cpctl.plugins.modes import Mode
from cpctl.plugins.server_mode import current_configuration, with_updates
from cpctl.plugins.store_errors import as_command_errors
from cpctl.session import SESSION
from plugin_store.cleaning import CleaningScope
from plugin_store.cleaning import clean as clean_store
from plugin_store.generations import damaged_plugins, load_manifest
from plugin_store.listing import listed_plugins
from plugin_store.lock_document import LockDocument, read_lock
from plugin_store.names import version_of
from plugin_store.store_layout import remove

_DIGEST = Column("DIGEST", lambda item: str(item.get("sha256") or "")[:12])
_UPDATE = field("UPDATE")
_PROBLEM = field("PROBLEM", wide=True)
_CLIENT = (field("NAME"), field("VERSION"), field("PROVIDER"), field("STATE"), _DIGEST, _UPDATE, _PROBLEM)
_SERVER = (
    *(field("NAME"), field("TEAM"), field("VERSION"), field("PROVIDER"), field("STATE"), _DIGEST),
    Column("NODES", lambda item: f"{item['nodes_ready']}/{item['nodes_live']}"),
    field("JOBS"),
    _UPDATE,
    field("RELEASE", "release_number", wide=True),
    field("IMAGE", wide=True),
    field("URL", wide=True),
    _PROBLEM,
)


def list_plugins(
    *,
    mode: plugin_options.ModeName = "",
    team: plugin_options.Team = "",
    root: plugin_options.Root = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List plugins: their state, the nodes that have them and the jobs that use them, and updates.

    \b
    cpctl plugins list --mode server
    cpctl plugins list --mode client -o wide
    """
    columns: tuple[Column, ...]
    if plugin_options.mode_of(mode) is Mode.SERVER:
        if root:
            raise UsageError("--root does not work in server mode.", hint="cpctl plugins list --mode client")
        current, _ = current_configuration(SESSION.api(), team)
        items = with_updates(list(SESSION.api().items("plugins", {"team": team})), current)
        columns = _SERVER
    else:
        items = _installed(plugin_options.folder_of(root, team))
        columns = _CLIENT
    say(*listing(columns, items, how=output, name_of=lambda item: item["name"], headers=not no_headers))


def _installed(folder: ClientFolder) -> list[Item]:
    """Return the plugins of a folder, with the versions that the server has for them now."""
    with as_command_errors():
        rows = listed_plugins(load_manifest(folder.root), damaged_plugins(folder.root))
    updates = _updates(folder)
    return [
        {
            **{"name": row.name, "version": row.version, "provider": row.provider, "state": row.state},
            "sha256": row.digest.removeprefix("sha256:"),
            "update": updates.get(row.name, ""),
            "problem": row.problem,
        }
        for row in rows
    ]


def _updates(folder: ClientFolder) -> dict[str, str]:
    """Return the versions of the server's lock that differ. Without the server, there are none to show."""
    origin = folder.origin()
    if origin is None or not origin.server:
        return {}
    try:
        context = SESSION.chosen()
        if context.server != origin.server:
            return {}
        served = read_lock(ServerOrigin(SESSION.api(tries=False), origin.team).lock(None).text)
    except CpctlError as error:
        SESSION.tell(f"Updates are unknown: {error.message}")
        return {}
    current = {plugin.name: plugin.sha256 for plugin in load_manifest(folder.root).current.plugins}
    return {
        plugin.name: version_of(plugin.version, plugin.sha256)
        for plugin in served.plugins
        if plugin.name in current and current[plugin.name] != plugin.sha256
    }


def verify(
    *,
    team: plugin_options.Team = "",
    root: plugin_options.Root = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Compare the plugins of this machine with what was installed, and with their lock.

    Needs no server. Exits with 1 if files have changed, or if the active plugins are not those of the lock.

    \b
    cpctl plugins verify
    cpctl plugins verify --root ./plugins -o json
    """
    folder = plugin_options.folder_of(root, team)
    with as_command_errors():
        folder.require_plugins()
        manifest = load_manifest(folder.root)
        damaged = sorted(damaged_plugins(folder.root))
        lock = _installed_lock(folder)
        drift = drift_lines(lock, manifest.current.plugins) if lock else []
    problems = [f"{name}: its files have changed since they were installed" for name in damaged] + drift
    count = len(manifest.current.plugins)
    facts = {"folder": str(folder.root), "plugins": count, "damaged": damaged, "drift": drift}
    checked = "as installed" if lock else "as installed; there is no lock to compare them with"
    say(
        *(
            document(facts, output)
            if output.is_whole
            else problems or [f"{counted(count, 'plugin')}: {checked}."]
        )
    )
    if problems:
        raise typer.Exit(Exit.DIFFERS)


def _installed_lock(folder: ClientFolder) -> LockDocument | None:
    origin = folder.origin()
    return read_lock(origin.lock.encode()) if origin and origin.lock else None


def clean(
    *,
    unused: Annotated[
        bool, typer.Option("--unused", help="What no generation uses any more. This is the default.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="All plugins of this folder, with all generations.")
    ] = False,
    team: plugin_options.Team = "",
    root: plugin_options.Root = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Remove plugins of this machine that nothing uses, or all of them.

    Only what was installed is removed: other files, and plugins whose files have changed, stay and are
    listed. Exits with 1 if changed plugins stay.

    \b
    cpctl plugins clean --dry-run
    cpctl plugins clean --all
    """
    if unused and everything:
        raise UsageError("Use either --unused or --all.")
    folder = plugin_options.folder_of(root, team)
    scope = CleaningScope.ALL if everything else CleaningScope.UNUSED
    if not dry_run:
        what = "all plugins" if everything else "unused plugins"
        SESSION.confirm(f"Remove {what} of {folder.root}?", yes=yes)
    with as_command_errors():
        report = clean_store(folder.root, scope=scope, lock=_installed_lock(folder), is_dry_run=dry_run)
        if everything and not dry_run and not report.changed and folder.state.is_dir():
            remove(folder.state)
    foreign = [path for path in report.foreign if path != STATE_FOLDER]
    facts: dict[str, Any] = {"folder": str(folder.root), "removed": list(report.removed)}
    facts |= {"changed": list(report.changed), "foreign": foreign, "dry_run": dry_run}
    if output.is_whole:
        say(*document(facts, output))
    else:
        say(*_clean_lines(facts))
    if report.changed:
        raise typer.Exit(Exit.DIFFERS)


def _clean_lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"- {name}" for name in facts["removed"]]
    lines += [f"! {name}: its files have changed, so it stays" for name in facts["changed"]]
    lines += [f"! {path}: not installed by cpctl, so it stays" for path in facts["foreign"]]
    text = f"{len(facts['removed'])} folders of plugins removed."
    return [*lines, f"Dry run: {text}" if facts["dry_run"] else text]
