"""The data plane that a configuration is rendered for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.formats.go_durations import SECOND
from registry.agent_configs.documents.dialects import NAMES_BY_DIALECT, Dialect, DialectNames
from registry.agent_configs.documents.published import TaskTypeFacts

# Since this release an explicit mapping overrides discovery, as version 0 and not sync (Flyte #6464).
_MAPPING_OVERRIDES_DISCOVERY = (1, 16)


@dataclass(frozen=True, slots=True)
class Target:
    """A data plane's dialect and release, and settings of its operators.

    enabled_plugins: as in propeller; empty means all. platform: members of the section that teams cannot
    set, such as defaultAgent, by Flyte's names. placeholders: task types for a bundle without any.
    """

    dialect: Dialect = Dialect.AGENT
    release: tuple[int, ...] = (1, 16, 0)
    enabled_plugins: tuple[str, ...] = ()
    platform: Mapping[str, Any] = field(default_factory=dict)
    placeholders: tuple[str, ...] = ()
    default_timeout: int = 10 * SECOND
    list_timeout: int = 3 * SECOND
    longest_list_timeout: int = 5 * SECOND

    @property
    def names(self) -> DialectNames:
        return NAMES_BY_DIALECT[self.dialect]

    @property
    def runs_agents(self) -> bool:
        """True if propeller loads the agent plugin; otherwise defaults that name it stop propeller."""
        enabled = {plugin.strip().lower() for plugin in self.enabled_plugins}
        return not enabled or self.names.section in enabled

    def maps(self, facts: TaskTypeFacts, *, pinned: bool) -> bool:
        """True if a task type may be mapped, and not only discovered."""
        if self.dialect is Dialect.CONNECTOR_V2:
            # A mapping is for version 0, and there is one for a name.
            return facts.version == 0 and not pinned
        return self.release < _MAPPING_OVERRIDES_DISCOVERY or facts == TaskTypeFacts()
