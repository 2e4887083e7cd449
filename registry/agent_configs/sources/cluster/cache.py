"""What is known of the cluster's ConfigMaps: written by reflectors, read by whoever publishes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from registry.agent_configs.sources.cluster.objects import ConfigMap
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE


@dataclass(frozen=True, slots=True)
class Seen:
    """config_maps: all that are known; troubles: namespaces that cannot be read now, and why.

    is_complete: every namespace was listed, or why not is known.
    """

    config_maps: tuple[ConfigMap, ...]
    troubles: dict[str, str]
    is_complete: bool
    counts: dict[str, int]


class View:
    def __init__(self, namespaces: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, dict[tuple[str, str], ConfigMap]] = {}
        self._namespaces = frozenset(namespaces)
        self._troubles: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self.changed = threading.Event()

    def replace(self, namespace: str, config_maps: Iterable[ConfigMap]) -> None:
        """After a list. What is in it no more is gone."""
        with self._lock:
            self._held[namespace] = {
                (config_map.namespace, config_map.name): config_map for config_map in config_maps
            }
            self._counts["lists"] += 1
        self.well(namespace)
        self.changed.set()

    def put(self, namespace: str, config_map: ConfigMap) -> None:
        with self._lock:
            self._held[namespace][config_map.namespace, config_map.name] = config_map
        self.changed.set()

    def drop(self, namespace: str, config_map: ConfigMap) -> None:
        with self._lock:
            self._held[namespace].pop((config_map.namespace, config_map.name), None)
        self.changed.set()

    def well(self, namespace: str) -> None:
        with self._lock:
            was_troubled = self._troubles.pop(namespace, None)
        if was_troubled:
            self.changed.set()

    def fail(self, namespace: str, reason: str) -> None:
        trouble = f"{_name(namespace)}: {reason}"
        with self._lock:
            self._counts["errors"] += 1
            is_news = self._troubles.get(namespace) != trouble
            self._troubles[namespace] = trouble
        if is_news:
            self.changed.set()

    def count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1

    def is_empty(self, namespace: str) -> bool:
        """True if it was listed, and nothing is there."""
        with self._lock:
            return self._held.get(namespace) == {}

    def _told(self) -> dict[str, str]:
        """What was neither listed nor refused is as unread as what cannot be."""
        waiting = self._namespaces - self._held.keys()
        return {
            **{namespace: f"{_name(namespace)}: it was not listed yet." for namespace in waiting},
            **self._troubles,
        }

    def seen(self) -> Seen:
        with self._lock:
            config_maps = [config_map for maps in self._held.values() for config_map in maps.values()]
            is_complete = self._namespaces <= self._held.keys() | self._troubles.keys()
            counts = {**self._counts, "config_maps": len(config_maps)}
            # The oldest first, so that who came first is published first.
            config_maps.sort(
                key=lambda config_map: (config_map.created_at, config_map.namespace, config_map.name)
            )
            return Seen(tuple(config_maps), self._told(), is_complete, counts)


def _name(namespace: str) -> str:
    return "all namespaces" if namespace == EVERYWHERE else f"namespace {namespace}"
