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

    def replace(self, namespace: str, found: Iterable[ConfigMap]) -> None:
        """After a list. What is in it no more is gone."""
        with self._lock:
            self._held[namespace] = {(one.namespace, one.name): one for one in found}
            self._counts["lists"] += 1
        self.well(namespace)
        self.changed.set()

    def put(self, namespace: str, one: ConfigMap) -> None:
        with self._lock:
            self._held[namespace][one.namespace, one.name] = one
        self.changed.set()

    def drop(self, namespace: str, one: ConfigMap) -> None:
        with self._lock:
            self._held[namespace].pop((one.namespace, one.name), None)
        self.changed.set()

    def well(self, namespace: str) -> None:
        with self._lock:
            was_troubled = self._troubles.pop(namespace, None)
        if was_troubled:
            self.changed.set()

    def fail(self, namespace: str, reason: str) -> None:
        said = f"{_name(namespace)}: {reason}"
        with self._lock:
            self._counts["errors"] += 1
            is_news = self._troubles.get(namespace) != said
            self._troubles[namespace] = said
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
        return {**{one: f"{_name(one)}: it was not listed yet." for one in waiting}, **self._troubles}

    def seen(self) -> Seen:
        with self._lock:
            held = [one for maps in self._held.values() for one in maps.values()]
            is_complete = self._namespaces <= self._held.keys() | self._troubles.keys()
            counts = {**self._counts, "config_maps": len(held)}
            # The oldest first, so that who came first is published first.
            held.sort(key=lambda one: (one.created_at, one.namespace, one.name))
            return Seen(tuple(held), self._told(), is_complete, counts)


def _name(namespace: str) -> str:
    return "all namespaces" if namespace == EVERYWHERE else f"namespace {namespace}"
