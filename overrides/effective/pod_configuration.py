"""How pods are configured at a scope: the effective attributes of three resource types, and who set them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes
from controlplane.scopes import Scope
from overrides.effective.effective import effective_attributes
from overrides.effective.results import EffectiveType
from overrides.loading.catalogue_cache import current_catalogue
from overrides.pods.preview import Configuration
from overrides.pods.shape import shape_errors
from overrides.resolution.resolve import Layer

TYPES = ("k8s_plugin", "gpu_node_labels", "default_pod_template")


@dataclass(frozen=True, slots=True)
class PodConfiguration:
    """configuration: for a preview. layers: who set each value, by resource type and pointer."""

    configuration: Configuration
    layers: Mapping[tuple[str, str], Layer]


def pod_configuration(scope: Scope, replacements: Mapping[str, Any]) -> PodConfiguration:
    """Return the configuration at the scope. replacements: attributes by type that replace those in effect.

    Raises InvalidAttributes, UnknownProject, UnknownDomain.
    """
    effective = effective_attributes(scope).types
    in_effect = {each.resource_type.name: each for each in effective if each.resource_type.name in TYPES}
    in_effect = {name: each for name, each in in_effect.items() if name not in replacements}
    attributes = {name: each.resolved.attributes for name, each in in_effect.items()} | dict(replacements)
    if errors := [*_replacement_errors(replacements), *_shape_errors(attributes)]:
        raise InvalidAttributes(f"Invalid configuration of pods: {errors[0].message}", errors=errors)
    return PodConfiguration(Configuration(**attributes), dict(_layers(in_effect.values())))


def _replacement_errors(replacements: Mapping[str, Any]) -> list[FieldError]:
    """Return what the definitions of the types find in the given attributes, where they are defined."""
    types = current_catalogue().types
    return [
        error
        for name, attributes in replacements.items()
        if name in types
        for error in types[name].errors(types[name].read(attributes, f"/{name}"), f"/{name}")
    ]


def _shape_errors(attributes: Mapping[str, Any]) -> list[FieldError]:
    """Return what a preview could not read: operators can define types of these names as they like."""
    return [error for name, each in attributes.items() for error in shape_errors(name, each, f"/{name}")]


def _layers(types: Iterable[EffectiveType]) -> Iterable[tuple[tuple[str, str], Layer]]:
    """Yield the layer of each leaf, and of each parent of leaves."""
    layers: dict[tuple[str, str], Layer] = {}
    for effective_type in types:
        for leaf in effective_type.resolved.leaves:
            steps = leaf.pointer.split("/")
            for end in range(2, len(steps) + 1):
                layers.setdefault((effective_type.resource_type.name, "/".join(steps[:end])), leaf.source)
    return layers.items()
