"""Merge parts of pods as Flyte does, and remember where each value is from. Pure.

Flyte merges Kubernetes' Go structures with mergo, WithOverride and WithAppendSlice: lists append, objects
merge, and a value that is zero in Go ("", 0, false) never replaces one that is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from overrides.resolution.leaves import escape

# Members that are maps in Go, not structures: each of their entries replaces the one of the same name.
_MAPS = frozenset({"labels", "annotations", "nodeSelector", "limits", "requests", "overhead", "matchLabels"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value is from. kind: such as k8s_plugin. name: of a PodTemplate. setting: pointer in a type."""

    kind: str
    name: str = ""
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a pod, with its source."""

    value: Any
    source: Source


def sourced(document: Any, source: Source) -> Any:
    """Return the document with a Value in place of each leaf. Members that are null are absent."""
    if isinstance(document, Mapping):
        return {str(name): sourced(item, source) for name, item in document.items() if item is not None}
    if isinstance(document, list):
        return [sourced(item, source) for item in document]
    return Value(document, source)


def plain(document: Any) -> Any:
    """Return the document without sources."""
    if isinstance(document, dict):
        return {name: plain(item) for name, item in document.items()}
    if isinstance(document, list):
        return [plain(item) for item in document]
    return document.value


def sources(document: Any, pointer: str = "") -> Iterator[tuple[str, Source]]:
    """Yield JSON Pointer and source of each value."""
    if isinstance(document, dict):
        for name, item in document.items():
            yield from sources(item, f"{pointer}/{escape(name)}")
    elif isinstance(document, list):
        for index, item in enumerate(document):
            yield from sources(item, f"{pointer}/{index}")
    else:
        yield pointer, document.source


def merged(below: Any, above: Any, *, in_map: bool = False) -> Any:
    """Return both, `above` over `below`."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {
            name: merged(below[name], item, in_map=name in _MAPS) if name in below and not in_map else item
            for name, item in above.items()
        }
    if isinstance(below, list) and isinstance(above, list):
        return below + above
    return below if isinstance(above, Value) and _yields(above, below) else above


def _yields(above: Value, below: Any) -> bool:
    """Return whether the value leaves what is below it.

    Ports by name are structures in Go (IntOrString), whose type stays when a number arrives.
    """
    named_port = isinstance(below, Value) and type(above.value) is int and isinstance(below.value, str)
    return not above.value or named_port
