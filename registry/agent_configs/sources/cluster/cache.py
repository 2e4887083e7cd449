"""A cache of the cluster's ConfigMaps, written by reflectors and read by the publisher."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from registry.agent_configs.sources.cluster.objects import ConfigMap
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE


@dataclass(frozen=True, slots=True)
class CacheSnapshot:
    """A snapshot of the cache. errors: namespaces that cannot be read, with the reason.

    is_complete: every namespace was listed or has an error.
    """

    config_maps: tuple[ConfigMap, ...]
    errors: dict[str, str]
    is_complete: bool
    counts: dict[str, int]


class ConfigMapCache:
    def __init__(self, namespaces: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._config_maps: dict[str, dict[tuple[str, str], ConfigMap]] = {}
        self._namespaces = frozenset(namespaces)
        self._errors: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self.changed = threading.Event()

    def replace(self, namespace: str, config_maps: Iterable[ConfigMap]) -> None:
        """Replace a namespace's ConfigMaps after a list."""
        with self._lock:
            self._config_maps[namespace] = {
                (config_map.namespace, config_map.name): config_map for config_map in config_maps
            }
            self._counts["lists"] += 1
        self.clear_error(namespace)
        self.changed.set()

    def put(self, namespace: str, config_map: ConfigMap) -> None:
        with self._lock:
            self._config_maps[namespace][config_map.namespace, config_map.name] = config_map
        self.changed.set()

    def drop(self, namespace: str, config_map: ConfigMap) -> None:
        with self._lock:
            self._config_maps[namespace].pop((config_map.namespace, config_map.name), None)
        self.changed.set()

    def clear_error(self, namespace: str) -> None:
        with self._lock:
            was_troubled = self._errors.pop(namespace, None)
        if was_troubled:
            self.changed.set()

    def record_error(self, namespace: str, reason: str) -> None:
        message = f"{_describe_namespace(namespace)}: {reason}"
        with self._lock:
            self._counts["errors"] += 1
            is_new = self._errors.get(namespace) != message
            self._errors[namespace] = message
        if is_new:
            self.changed.set()

    def count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1

    def is_empty(self, namespace: str) -> bool:
        """True if the namespace was listed and has no ConfigMaps."""
        with self._lock:
            return self._config_maps.get(namespace) == {}

    def _namespace_errors(self) -> dict[str, str]:
        """Return errors by namespace; a namespace that is not listed yet counts as an error."""
        waiting = self._namespaces - self._config_maps.keys()
        return {
            **{namespace: f"{_describe_namespace(namespace)}: not listed yet." for namespace in waiting},
            **self._errors,
        }

    def snapshot(self) -> CacheSnapshot:
        with self._lock:
            config_maps = [config_map for maps in self._config_maps.values() for config_map in maps.values()]
            is_complete = self._namespaces <= self._config_maps.keys() | self._errors.keys()
            counts = {**self._counts, "config_maps": len(config_maps)}
            # Oldest first, so that the first claim is published first.
            config_maps.sort(
                key=lambda config_map: (config_map.created_at, config_map.namespace, config_map.name)
            )
            return CacheSnapshot(tuple(config_maps), self._namespace_errors(), is_complete, counts)


def _describe_namespace(namespace: str) -> str:
    return "all namespaces" if namespace == EVERYWHERE else f"namespace {namespace}"
