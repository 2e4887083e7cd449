"""The installer of a node: fetches what releases need, installs them, and activates what is ready."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from controlplane.database.clock import database_now
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import system
from registry.plugin_releases.activation import activate_ready, beat
from registry.plugin_releases.folder_source import FolderSource
from registry.plugin_releases.models import PluginSet
from registry.plugin_releases.node_installation import install_on_node
from registry.plugin_releases.resolving import Resolver

_log = logging.getLogger(__name__)
_ACTOR = system("plugin-installer")
ALIVE_FILE = ".alive"


class Installer:
    """One per node. Its steps are safe to repeat at any point, also by another installer."""

    def __init__(self, node: str, server_version: str) -> None:
        self.node, self.server_version = node, server_version
        self.resolver = Resolver(node, _ACTOR, server_version=server_version)
        self.folder = FolderSource(node)
        self.halted = Event()
        # Sets whose folder this process has looked into: the database may know of a folder that was lost.
        self._checked: set[UUID] = set()

    def run(self, pause_seconds: float) -> None:
        """Repeat steps until it is halted."""
        while not self.halted.is_set():
            self.step()
            self.halted.wait(pause_seconds)
        self.resolver.close()

    def step(self) -> None:
        """Do once what is to be done. A failure is logged, and stops no other part."""
        close_old_connections()
        self._do("heartbeat", lambda: beat(self.node, self.server_version))
        self._do("configuration files", self.folder.refresh)
        self._do("fetching", self.resolver.step)
        self._do("sets", self._install_all)
        self._do("activation", lambda: activate_ready(_ACTOR))
        self._do("sign of life", _show_life)

    def _install_all(self) -> None:
        now = database_now()
        for plugin_set in PluginSet.objects.select_related("team").order_by("id"):
            self._do(f"plugins of {plugin_set}", partial(self._install, plugin_set, now))

    def _install(self, plugin_set: PluginSet, now: datetime) -> None:
        is_checked = plugin_set.id in self._checked
        install_on_node(self.node, plugin_set, self.resolver.store, now, is_checked=is_checked)
        self._checked.add(plugin_set.id)

    def _do(self, part: str, work: Callable[[], object]) -> None:
        try:
            work()
        except (ControlplaneError, DatabaseError, OSError) as error:
            _log.warning("plugin_installer_step_failed", extra={"part": part, "problem": str(error)[:500]})


def _show_life() -> None:
    """Write the time of the last step, for probes on this machine."""
    root = Path(settings.PLUGIN_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    (root / ALIVE_FILE).touch()
