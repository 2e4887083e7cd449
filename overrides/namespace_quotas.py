"""Quotas of Kubernetes namespaces: the values of `cluster_resource` in effect, for pools to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import UnknownDomain, UnknownProject
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools.namespace_quotas import NamespaceQuota
from controlplane.scopes import Scope
from overrides.effective.effective import effective_attributes
from overrides.resolution.leaves import escape
from overrides.resolution.resolve import Resolution

RESOURCE_TYPE = "cluster_resource"


def read_namespace_quotas(caller: Caller, scope: Scope) -> list[NamespaceQuota]:
    """Return the values at the scope of a project and domain; nothing if the caller may not read them.

    Limits of pools may name projects that do not exist here; they have no values.
    """
    if not caller.verdict(Action.OVERRIDE_READ, scope).allowed:
        return []
    try:
        found = effective_attributes(scope, resource_type=RESOURCE_TYPE).types
    except (UnknownProject, UnknownDomain):
        return []
    return [quota for effective in found for quota in _quotas_in(effective.resolved)]


def _quotas_in(resolved: Resolution) -> list[NamespaceQuota]:
    """Return the values of placeholders, each with the scope that sets it. Pure."""
    values: Mapping[str, Any] = resolved.attributes.get("attributes") or {}
    sources = {leaf.pointer: leaf.source for leaf in resolved.leaves}
    return [
        NamespaceQuota(name, str(value), None if layer.is_default else layer.scope)
        for name, value in sorted(values.items())
        if (layer := sources.get(f"/attributes/{escape(name)}")) is not None
    ]
