"""Register, change and remove clusters, and who may read them and report for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count

from controlplane.access import audit
from controlplane.access.models import Principal
from controlplane.database.locks import lock_publishing
from controlplane.errors import (
    ConfirmationRequired,
    FieldError,
    InvalidRequest,
    LimitReached,
    UnknownAgentConfigCluster,
)
from controlplane.events.types import EventType
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor, system
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from registry.agent_configs.event_types import (
    CLUSTER_CHANGED,
    CLUSTER_CONFIRMED,
    CLUSTER_LOADED,
    CLUSTER_REFUSED,
    CLUSTER_REGISTERED,
    CLUSTER_REMOVED,
)
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.hidden_teams import HiddenTeams, hidden_teams
from registry.agent_configs.publishing.publish import API, FOLDER, KUBERNETES, delete_document
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.source_models import CLUSTER_NAME_LENGTH, RegisteredCluster
from registry.agent_configs.sources.follow import Source, documents_digest, load_published_digests
from registry.agent_configs.sources.registered.reports import EVERY_NAMESPACE

OBJECT_TYPE = "agent_config_cluster"
# `admission` is no source, but stands for one in metrics.
RESERVED = frozenset({API, FOLDER, KUBERNETES, "admission"})
# Each has series of its own in the metrics.
MOST_CLUSTERS = 50
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SYSTEM = system("agent_config_cluster")


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A cluster as an administrator registers it. namespaces: those it may report; `*` is all."""

    principal: str
    namespaces: Sequence[str]


def source_of(name: str, actor: Actor = _SYSTEM) -> Source:
    """Return the source of the cluster with this name. actor: who publishes."""
    return Source(
        name,
        RegisteredCluster,
        OBJECT_TYPE,
        actor,
        CLUSTER_LOADED,
        CLUSTER_REFUSED,
        CLUSTER_CONFIRMED,
        key=name,
    )


def readable_clusters(caller: Caller) -> list[RegisteredCluster]:
    """Return the clusters that may report a namespace of a team that the caller sees."""
    hidden = hidden_teams(caller)
    return [row for row in RegisteredCluster.objects.order_by("name") if _shows(row, hidden)]


def get_readable_cluster(name: str, caller: Caller) -> RegisteredCluster:
    """Raises UnknownAgentConfigCluster if it does not exist or the caller may not read it."""
    row = RegisteredCluster.objects.filter(name=name).first()
    if row is None or not _shows(row, hidden_teams(caller)):
        raise _unknown(name)
    return row


def get_reported_cluster(name: str, caller: Caller) -> RegisteredCluster:
    """Return the cluster to its principal. Raises UnknownAgentConfigCluster for anybody else."""
    row = RegisteredCluster.objects.filter(name=name).first()
    is_principal = row is not None and caller.principal_id is not None and row.principal == caller.name
    if row is None or not is_principal or not caller.verdict(Action.AGENT_CONFIG_REPORT).allowed:
        raise _unknown(name)
    return row


def get_admitted_cluster(name: str, caller: Caller) -> RegisteredCluster:
    """Return the cluster if the caller is its principal or may read it. Raises UnknownAgentConfigCluster."""
    if caller.verdict(Action.AGENT_CONFIG_READ).allowed:
        return get_readable_cluster(name, caller)
    return get_reported_cluster(name, caller)


def count_documents(names: Iterable[str]) -> dict[str, int]:
    """Return the number of published documents of each cluster that has any."""
    rows = AgentConfig.objects.filter(source__in=[*names], deleted_at=None)
    return dict(rows.values_list("source").annotate(n=Count("id")))


@transaction.atomic
def put_cluster(
    name: str, spec: ClusterSpec, *, actor: Actor, precondition: Precondition | None = None
) -> tuple[RegisteredCluster, bool]:
    """Register a cluster, or change its registration. Raises InvalidRequest, LimitReached."""
    _check_spec(name, spec)
    # One at a time, so that the limit holds.
    lock_publishing()
    existing = RegisteredCluster.objects.select_for_update().filter(name=name).first()
    check(precondition, existing.version if existing else None)
    before = show_spec(existing) if existing else None
    after = {**asdict(spec), "namespaces": sorted(set(spec.namespaces))}
    if existing and before == after:
        return existing, False
    if existing is None and RegisteredCluster.objects.count() >= MOST_CLUSTERS:
        raise LimitReached(f"There can be at most {MOST_CLUSTERS} registered clusters. Delete one first.")
    row = existing or RegisteredCluster(name=name, version=0)
    row.principal, row.namespaces, row.version = spec.principal, after["namespaces"], row.version + 1
    row.save(force_insert=existing is None)
    kind = CLUSTER_CHANGED if existing else CLUSTER_REGISTERED
    _record(kind, name, actor, before=before, after=after)
    row.refresh_from_db()
    return row, existing is None


@transaction.atomic
def remove_cluster(
    name: str, *, actor: Actor, confirm: str = "", asks: bool = True, precondition: Precondition | None = None
) -> None:
    """Delete a registration and the cluster's documents. asks: only if confirmed, when there are any.

    Raises UnknownAgentConfigCluster, ConfirmationRequired.
    """
    lock_publishing()
    row = RegisteredCluster.objects.select_for_update().filter(name=name).first()
    if row is None:
        raise _unknown(name)
    check(precondition, row.version)
    documents = load_published_digests(source_of(name))
    digest = documents_digest(documents)
    if documents and asks and confirm != digest:
        raise _ask(name, len(documents), digest)
    for document in sorted(documents):
        delete_document(document, actor=actor, in_batch=True)
    before = show_spec(row)
    row.delete()
    _record(CLUSTER_REMOVED, name, actor, before=before, after=None, documents=len(documents))
    if documents:
        recompute_all(actor)


def show_spec(row: RegisteredCluster) -> dict[str, Any]:
    return {"principal": row.principal, "namespaces": row.namespaces}


def unknown_source(name: str) -> InvalidRequest:
    message = f"There is no followed source {name[:80]!r}. List them with GET /api/v1/agent-config-sources."
    return InvalidRequest(message, errors=[FieldError("/source", "unknown_source", message)])


def _shows(row: RegisteredCluster, hidden: HiddenTeams) -> bool:
    return not hidden or any(each == EVERY_NAMESPACE or each not in hidden for each in row.namespaces)


def _unknown(name: str) -> UnknownAgentConfigCluster:
    return UnknownAgentConfigCluster(
        f"Cluster {name[:80]!r} is not registered, or you are not its principal. An administrator can"
        " register it, and set its `principal`."
    )


def _ask(name: str, count: int, digest: str) -> ConfirmationRequired:
    reason = f"The cluster {name} has {counted(count, 'published document')}, which would be deleted too."
    return ConfirmationRequired(
        f"{reason} See the effect with dry_run=true, then send confirm={digest} to go ahead.",
        affected=count,
        confirm=digest,
        reason=reason,
        removed=count,
    )


def _check_spec(name: str, spec: ClusterSpec) -> None:
    errors = []
    if not _NAME.fullmatch(name) or len(name) > CLUSTER_NAME_LENGTH:
        message = (
            "A cluster's name must have lowercase letters, digits and inner hyphens, at most"
            f" {CLUSTER_NAME_LENGTH}."
        )
        errors.append(FieldError("/name", "malformed", message))
    if name in RESERVED:
        message = f"{name!r} is the name of another source. Choose a different name."
        errors.append(FieldError("/name", "reserved", message))
    errors += [
        FieldError(f"/namespaces/{index}", "malformed", "Must be a namespace of Kubernetes, or *.")
        for index, namespace in enumerate(spec.namespaces)
        if namespace != EVERY_NAMESPACE and not _NAMESPACE.fullmatch(namespace)
    ]
    if not spec.namespaces:
        errors.append(FieldError("/namespaces", "required", "Name at least one namespace, or * for all."))
    errors += _check_principal(name, spec.principal)
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)


def _check_principal(name: str, principal: str) -> list[FieldError]:
    if not Principal.objects.filter(name=principal).exists():
        return [FieldError("/principal", "unknown_principal", f"Unknown principal {principal[:80]!r}.")]
    other = RegisteredCluster.objects.exclude(name=name).filter(principal=principal).first()
    if other is None:
        return []
    message = (
        f"{principal} is the principal of the cluster {other.name}. Give each cluster a principal of its own."
    )
    return [FieldError("/principal", "taken", message)]


def _record(
    kind: EventType,
    name: str,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    **data: Any,
) -> None:
    audit.record(
        kind, OBJECT_TYPE, name, actor=actor, before=before, after=after, data={"cluster": name, **data}
    )
