"""The commands `plugins`: releases on the server, and plugins of this machine."""

from __future__ import annotations

import typer

from cpctl.commands import (
    plugin_checks,
    plugin_configs,
    plugin_folders,
    plugin_installs,
    plugin_locks,
    plugin_releases,
)

plugins = typer.Typer(
    help="Release plugins on the server, or install its plugins on this machine.",
    no_args_is_help=True,
)
plugins.command("validate")(plugin_checks.validate)
plugins.command("install")(plugin_installs.install)
plugins.command("sync")(plugin_installs.sync)
plugins.command("list")(plugin_folders.list_plugins)
plugins.command("show")(plugin_configs.show_plugin)
plugins.command("nodes")(plugin_configs.list_nodes)
plugins.command("verify")(plugin_folders.verify)
plugins.command("lock")(plugin_locks.lock)
plugins.command("mirror")(plugin_locks.mirror)
plugins.command("rollback")(plugin_releases.rollback)
plugins.command("clean")(plugin_folders.clean)
plugins.add_typer(plugin_releases.releases, name="releases")
plugins.add_typer(plugin_configs.config, name="config")
plugins.add_typer(plugin_configs.secrets, name="secrets")
