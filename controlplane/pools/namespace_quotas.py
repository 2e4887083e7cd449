"""Quotas of Kubernetes namespaces, beside the limits of a pool. They are overrides, unknown to this package.

The package of overrides registers how they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controlplane.identity.callers import Caller
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class NamespaceQuota:
    """A value for the namespace of a project and domain, such as projectQuotaCpu.

    scope: where it is set; None: it is a default of the platform.
    """

    name: str
    value: str
    scope: Scope | None


_Reader = Callable[[Caller, Scope], Sequence[NamespaceQuota]]
_readers: list[_Reader] = []


def read_namespace_quotas_with(reader: _Reader) -> None:
    """Register how they are read: for a caller, at the scope of a project and domain."""
    _readers.append(reader)


def namespace_quotas(caller: Caller, scope: Scope) -> list[NamespaceQuota]:
    """Return those in effect where the scope's work runs, which the caller may read.

    Empty for a scope without a project or domain: namespaces exist per project and domain.
    """
    if not (scope.project and scope.domain):
        return []
    namespace = Scope(scope.domain, scope.project)
    return [quota for reader in _readers for quota in reader(caller, namespace)]
