"""Report the outcomes of published documents to the authors of their ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from registry.agent_configs.sources.cluster.event_messages import build_notices
from registry.agent_configs.sources.cluster.event_sender import EventSender
from registry.agent_configs.sources.cluster.objects import SOURCE as NAME
from registry.agent_configs.sources.cluster.objects import ConfigMap
from registry.agent_configs.sources.cluster.outcomes import load_outcomes, outcomes_version


class OutcomeReporter:
    """Reports outcomes of documents that may have changed since the last report."""

    def __init__(self, sender: EventSender) -> None:
        self.sender = sender
        self._version: Any = None

    def report(self, config_maps: Iterable[ConfigMap]) -> None:
        by_document = {config_map.document: config_map for config_map in config_maps}
        mark = (outcomes_version(NAME), frozenset(config_map.uid for config_map in by_document.values()))
        if mark == self._version:
            return
        for row, outcome in load_outcomes(NAME):
            config_map = by_document.get(row.document_id)
            if config_map:
                self.sender.send(config_map, build_notices(outcome))
        self._version = mark
