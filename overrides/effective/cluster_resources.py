"""Kubernetes resources of a project and domain: templates that overrides fill in. Pure.

Flyte's cluster resource manager does the same. Each placeholder is looked at once and values are never
searched for placeholders, so that the work grows with the texts alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.errors import FieldError, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.resolution.leaves import escape

TEMPLATES = "cluster_resource_templates"
VALUES = "cluster_resource"
# Bytes of all filled-in templates together: values can be much longer than their placeholders.
MAX_BYTES = 1024 * 1024
_DEFAULT_NAMESPACE = "{{ project }}-{{ domain }}"
_PLACEHOLDER = re.compile(r"\{\{([^{}\n]{1,200})\}\}")


@dataclass(frozen=True, slots=True)
class ClusterResource:
    """One resource. manifest: the text as data; None if it is no single Kubernetes resource."""

    name: str
    text: str
    manifest: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ClusterWarning:
    """What is wrong with a value of a resource type."""

    resource_type: str
    error: FieldError


@dataclass(frozen=True, slots=True)
class ClusterResources:
    """The resources of a namespace. values: what placeholders stand for."""

    namespace: str
    values: Mapping[str, str]
    resources: tuple[ClusterResource, ...]
    warnings: tuple[ClusterWarning, ...]


@dataclass(slots=True)
class _Filling:
    """One pass over all templates. used: the keys that a template has."""

    values: Mapping[str, str]
    used: set[str] = field(default_factory=set)
    room: int = MAX_BYTES
    warnings: list[ClusterWarning] = field(default_factory=list)

    def resource(self, index: int, template: Mapping[str, Any]) -> ClusterResource:
        """Return the filled-in template. What cannot be filled in stays as it is."""
        pointer, before = f"/templates/{index}/text", len(self.warnings)
        text = self.filled(template["text"], pointer)
        is_whole = len(self.warnings) == before
        return ClusterResource(template["name"], text, self._manifest(text, pointer) if is_whole else None)

    def filled(self, text: str, pointer: str) -> str:
        """Return the text with values in place of the placeholders that have one."""
        parts, end, unknown = [], 0, set()
        for match in _PLACEHOLDER.finditer(text):
            key = match[1].strip()
            is_exact = match[1] == f" {key} "
            self.used.add(key)
            if key in self.values and is_exact:
                parts += [text[end : match.start()], self.values[key]]
            else:
                parts.append(text[end : match.end()])
                if key not in unknown:
                    self._warn(pointer, *self._unfilled(key))
                unknown.add(key)
            end = match.end()
        parts.append(text[end:])
        return self._bounded(parts, pointer)

    def _bounded(self, parts: list[str], pointer: str) -> str:
        """Return the parts together, unless they are too long."""
        self.room -= sum(len(part.encode()) for part in parts)
        if self.room < 0:
            self._warn(pointer, "too_long", f"The resources have more than {MAX_BYTES} bytes together.")
            return ""
        return "".join(parts)

    def _unfilled(self, key: str) -> tuple[str, str]:
        if key in self.values:
            return "malformed", f"Flyte fills in {key!r} only with one space at each side: {{{{ {key} }}}}."
        nearest = difflib.get_close_matches(key, list(self.values)[:200], n=1, cutoff=0.5)
        advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Set it as an override of {VALUES}."
        return "unknown_placeholder", f"Nothing fills in {key!r}. {advice}"

    def _manifest(self, text: str, pointer: str) -> Mapping[str, Any] | None:
        try:
            documents = strict_yaml.load_all(text)
        except MalformedBody as error:
            self._warn(pointer, "malformed", f"The resource cannot be read. {error.detail}"[:300])
            return None
        if len(documents) != 1:
            self._warn(
                pointer,
                "not_one_resource",
                f"Flyte reads one resource of a template, and this one has {len(documents)}.",
            )
            return None
        (manifest,) = documents
        if isinstance(manifest, dict) and {"apiVersion", "kind"} <= manifest.keys():
            return manifest
        self._warn(pointer, "required", "A Kubernetes resource needs apiVersion and kind.")
        return None

    def _warn(self, pointer: str, code: str, message: str) -> None:
        self.warnings.append(ClusterWarning(TEMPLATES, FieldError(pointer, code, message)))


def cluster_resources(scope: Scope, attributes: Mapping[str, Mapping[str, Any]]) -> ClusterResources:
    """Return the resources of a project and domain. attributes: effective ones, by resource type."""
    templates, own = attributes.get(TEMPLATES, {}), attributes.get(VALUES, {}).get("attributes", {})
    names = {"project": scope.project, "domain": scope.domain}
    naming = _Filling(names)
    namespace = naming.filled(templates.get("namespace", _DEFAULT_NAMESPACE), "/namespace")
    values = {**templates.get("values", {}), **own, **names, "namespace": namespace}
    filling = _Filling(values, warnings=naming.warnings)
    by_name = sorted(enumerate(templates.get("templates", [])), key=lambda each: str(each[1]["name"]))
    resources = tuple(filling.resource(index, template) for index, template in by_name)
    unused = _unused(filling.used, own, templates.get("values", {}))
    return ClusterResources(namespace, values, resources, (*filling.warnings, *unused))


def _unused(used: set[str], own: Mapping[str, str], defaults: Mapping[str, str]) -> Iterator[ClusterWarning]:
    for resource_type, member, keys in ((VALUES, "attributes", own), (TEMPLATES, "values", defaults)):
        for key in sorted(keys.keys() - used):
            nearest = difflib.get_close_matches(key, sorted(used)[:200], n=1, cutoff=0.5)
            advice = f"Did you mean {nearest[0]!r}?" if nearest else "Remove it, or add it to a template."
            message = f"No template uses {key[:80]!r}. {advice}"
            yield ClusterWarning(
                resource_type, FieldError(f"/{member}/{escape(key)}", "unused_value", message)
            )
