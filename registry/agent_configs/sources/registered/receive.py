"""Take the reports of a cluster's collectors: publish, remove, and answer what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.errors import UnknownAgentConfigCluster
from controlplane.identity.actors import Actor
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.cluster.event_messages import WARNING, Notice, build_notices
from registry.agent_configs.sources.cluster.outcomes import load_outcomes, outcomes_version
from registry.agent_configs.sources.follow import (
    MAX_REPORTED,
    SourceListing,
    documents_digest,
    follow,
    load_published_digests,
    source_state,
)
from registry.agent_configs.sources.registered.clusters import source_of
from registry.agent_configs.sources.registered.reports import (
    LEASE,
    MOST_TEXTS,
    Collector,
    Report,
    carried,
    examine,
    may_report,
    settle,
)

STANDBY = "standby"
_MAX_NOTE_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a report. missing: texts to send; again_after: seconds until removals have settled.

    outcomes: notices by document; None if they are those of the version that the collector has.
    """

    state: str
    missing: tuple[DocumentId, ...] = ()
    problems: tuple[str, ...] = ()
    pending: dict[str, Any] | None = None
    again_after: float | None = None
    outcomes_version: str = ""
    outcomes: Mapping[DocumentId, tuple[Notice, ...]] | None = None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A report compared with the row. gone: documents to remove; gone_digest, gone_since: to store."""

    listing: SourceListing
    missing: tuple[DocumentId, ...]
    gone: tuple[DocumentId, ...]
    gone_digest: str = ""
    gone_since: datetime | None = None
    again_after: float | None = None


@transaction.atomic
def receive(
    name: str, report: Report, collector: Collector, *, actor: Actor, known_outcomes: str = ""
) -> Answer:
    """Take a report. Another collector than the active one stands by.

    known_outcomes: the version of the outcomes that the collector has.
    """
    row = RegisteredCluster.objects.filter(name=name).first()
    if row is None or not _leads(row, collector):
        return Answer(STANDBY)
    compared, is_active = _compare(row, report), _is_active(collector)
    if not _is_unchanged(row, compared):
        # In the order of all who publish.
        lock_publishing()
        row = _lock(name)
        if not _leads(row, collector):
            return Answer(STANDBY)
        compared = _compare(row, report)
        follow(source_of(name, actor), compared.listing)
        # It is, and the row is locked.
        is_active = Q()
    if not _renew(RegisteredCluster.objects.filter(is_active, name=name), compared, collector):
        return Answer(STANDBY)
    row.refresh_from_db()
    return _answer(row, compared, known_outcomes)


def _leads(row: RegisteredCluster, collector: Collector) -> bool:
    return may_report(collector.id, row.collector_id, row.checked_at, now=database_now())


def _lock(name: str) -> RegisteredCluster:
    row = RegisteredCluster.objects.select_for_update().filter(name=name).first()
    if row is None:
        raise UnknownAgentConfigCluster(f"Cluster {name!r} was removed.")
    return row


def _compare(row: RegisteredCluster, report: Report) -> _Comparison:
    published = load_published_digests(source_of(row.name))
    most_bytes = settings.AGENT_CONFIGS_DOCUMENT_BYTES
    findings = examine(report, allowed=row.namespaces, published=published, most_bytes=most_bytes)
    listing = SourceListing(
        findings.texts,
        # Those whose text is not here exist all the same.
        findings.named - findings.texts.keys(),
        (*findings.problems, *carried(row.problems, findings.missing)),
        findings.unreadable,
        findings.created_at,
    )
    gone = tuple(listing.missing(published))
    if not gone:
        return _Comparison(listing, findings.missing, ())
    digest, now = documents_digest(gone), database_now()
    quiet = timedelta(seconds=settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS)
    since, wait = settle(row.gone_digest, row.gone_since, digest, now=now, quiet=quiet)
    if not wait:
        return _Comparison(listing, findings.missing, gone, digest, since)
    unsettled = replace(listing, unsettled=listing.unsettled | frozenset(gone))
    return _Comparison(unsettled, findings.missing, (), digest, since, wait.total_seconds())


def _is_unchanged(row: RegisteredCluster, compared: _Comparison) -> bool:
    """True if following the listing would change nothing, as is mostly so: it would delay all who publish."""
    listing, waits = compared.listing, documents_digest(compared.gone) if compared.gone else None
    reasons = dict.fromkeys(listing.unreadable_teams.values())
    return (
        not listing.texts
        and waits == (row.pending or {}).get("digest")
        and not row.confirmed_digest
        and row.digest == listing.digest
        and row.is_synced == (not reasons)
        and row.problems == [*listing.problems, *reasons][:MAX_REPORTED]
    )


def _is_active(collector: Collector) -> Q:
    """Match the cluster while `may_report` holds for the collector."""
    free = Q(collector_id=None) | Q(checked_at=None) | Q(checked_at__lte=Now() - LEASE)
    return free | Q(collector_id=collector.id)


def _renew(rows: QuerySet[RegisteredCluster], compared: _Comparison, collector: Collector) -> bool:
    """Store who reported and when; False if another collector did meanwhile."""
    times: dict[str, Any] = {"checked_at": Now()}
    if not compared.listing.unreadable_teams:
        times["loaded_at"] = Now()
    changed = rows.update(
        **times,
        collector=collector.name,
        collector_id=collector.id,
        collector_version=collector.version,
        counts=dict(collector.counts),
        gone_digest=compared.gone_digest,
        gone_since=compared.gone_since,
    )
    return bool(changed)


def _answer(row: RegisteredCluster, compared: _Comparison, known_outcomes: str) -> Answer:
    version = sha256(repr((outcomes_version(row.name), row.problems)).encode()).hexdigest()
    return Answer(
        source_state(row),
        compared.missing[:MOST_TEXTS],
        tuple(row.problems),
        row.pending,
        compared.again_after,
        version,
        None if version == known_outcomes else _load_notices(row),
    )


def _load_notices(row: RegisteredCluster) -> dict[DocumentId, tuple[Notice, ...]]:
    """Return notices for authors: the outcome of what is published, and why something is not."""
    notices = {
        document.document_id: tuple(build_notices(outcome)) for document, outcome in load_outcomes(row.name)
    }
    for problem in row.problems:
        place, _, reason = problem.partition(": ")
        namespace, slash, name = place.partition("/")
        if slash and reason:
            document = DocumentId(row.name, namespace, name)
            rejection = Notice("Rejected", WARNING, reason[:_MAX_NOTE_LENGTH])
            notices[document] = (*notices.get(document, ()), rejection)
    return notices
