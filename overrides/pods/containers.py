"""Containers of a pod: what Flyte takes for each from a PodTemplate, and their resources. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from overrides.pods.merging import Value, merged

DEFAULT_GPU = "nvidia.com/gpu"
# The name under which tasks request GPUs, whatever their nodes call them.
_GPU = "gpu"
_BOUNDS = ("requests", "limits")


@dataclass(frozen=True, slots=True)
class Kind:
    """Containers, or init containers. default, primary: names of a PodTemplate's that apply to others."""

    member: str
    default: str
    primary: str


CONTAINERS = Kind("containers", "default", "primary")
INIT_CONTAINERS = Kind("initContainers", "default-init", "primary-init")
KINDS = (CONTAINERS, INIT_CONTAINERS)


def named(containers: Iterable[Any]) -> dict[str, Any]:
    """Return the containers by name; of several with one name, the last."""
    return {name_of(each): each for each in containers}


def name_of(container: Any) -> str:
    name = container.get("name")
    return name.value if isinstance(name, Value) and isinstance(name.value, str) else ""


def merged_containers(kind: Kind, template: Any, spec: Any, primary: str) -> list[Any]:
    """Return the task's containers over those of the template: all others of the template are dropped."""
    of_template = template.get(kind.member, [])
    return [_merged_container(kind, of_template, each, primary) for each in spec.get(kind.member, [])]


def dropped(kind: Kind, template: Any, spec: Any) -> list[str]:
    """Return the names of the template's containers that no container of the task takes anything from."""
    used = {kind.default, kind.primary, *named(spec.get(kind.member, []))}
    return [name for name in named(template.get(kind.member, [])) if name not in used]


def _merged_container(kind: Kind, of_template: list[Any], container: Any, primary: str) -> Any:
    name = name_of(container)
    by_name = named(of_template)
    layers = [by_name[kind.default]] if kind.default in by_name else []
    if name == primary and primary:
        layers += [by_name[kind.primary]] if kind.primary in by_name else []
    elif name != kind.default:
        layers += [each for each in of_template if name_of(each) == name]
    result: dict[str, Any] = {}
    for layer in (*layers, container):
        result = merged(result, layer)
    return result


def with_resources(spec: Any, template: Any | None, primary: str, gpu: str) -> Any:
    """Return the spec with the resources that Flyte gives its containers before it looks for tolerations."""
    result = dict(spec)
    for kind in KINDS:
        if containers := spec.get(kind.member):
            result[kind.member] = [_with_resources(kind, each, template, primary, gpu) for each in containers]
    return result


def _with_resources(kind: Kind, container: Any, template: Any | None, primary: str, gpu: str) -> Any:
    written = container.get("resources", {})
    resources = written | {
        bound: {gpu if name == _GPU else name: amount for name, amount in written[bound].items()}
        for bound in _BOUNDS
        if bound in written
    }
    resources = merged(_of_template(kind, container, template), resources)
    if kind is INIT_CONTAINERS or name_of(container) == primary:
        resources = _with_gpu_limit(resources, gpu)
    return container | ({"resources": resources} if resources else {})


def _of_template(kind: Kind, container: Any, template: Any | None) -> dict[str, Any]:
    """Return the resources of the template for the container. Flyte looks for them in this order."""
    by_name = named((template or {}).get(kind.member, []))
    for name in (name_of(container), kind.primary, kind.default):
        if name in by_name:
            resources = by_name[name].get("resources", {})
            return {bound: resources[bound] for bound in _BOUNDS if bound in resources}
    return {}


def _with_gpu_limit(resources: Mapping[str, Any], gpu: str) -> dict[str, Any]:
    """Return the resources with request and limit of GPUs: Kubernetes wants both."""
    request, limit = (resources.get(bound, {}).get(gpu) for bound in _BOUNDS)
    if request is None and limit is None:
        return dict(resources)
    amounts = {"requests": request or limit, "limits": limit or request}
    return {
        **resources,
        **{bound: {**resources.get(bound, {}), gpu: amount} for bound, amount in amounts.items()},
    }


def requested(spec: Any) -> list[str]:
    """Return the names of all resources that the spec's containers request or limit, sorted."""
    resources = (each.get("resources", {}) for each in spec.get(CONTAINERS.member, []))
    return sorted({name for each in resources for bound in _BOUNDS for name in each.get(bound, {})})


def limited(spec: Any, resource: str) -> bool:
    """Return whether a container of the spec has a limit of the resource."""
    containers = spec.get(CONTAINERS.member, [])
    return any(resource in each.get("resources", {}).get("limits", {}) for each in containers)
