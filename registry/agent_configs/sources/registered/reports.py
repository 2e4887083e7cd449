"""What a collector reports, and what follows from it. Pure.

A report has the digests of all documents of the cluster, so that one alone is enough: nothing depends on
those before it. Texts are sent only if the server asks for them, and in any number of reports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from registry.agent_configs.documents.published import DocumentId

EVERY_NAMESPACE = "*"
# A collector reports every few seconds, and more often while it sends texts.
LEASE = timedelta(seconds=30)
# The texts of one report; the rest follows in the next. Publishing one takes up to 30 ms, and nobody else
# publishes meanwhile.
MOST_TEXTS = 100


@dataclass(frozen=True, slots=True)
class ReportedDocument:
    """A ConfigMap as reported. digest, size: of its text, in bytes."""

    id: DocumentId
    digest: str
    size: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Collector:
    """The process that reports. id: chosen at its start; counts: since then."""

    id: UUID
    name: str
    version: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything in a cluster. errors: namespaces that cannot be read, with the reason; `*` is all.

    texts: of some of the documents, verified against their digests.
    """

    documents: Sequence[ReportedDocument]
    texts: Mapping[DocumentId, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Findings:
    """A report compared with what is published. named: all documents that the cluster has.

    missing: documents whose text the server needs, oldest first; rejected: those that cannot be published.
    """

    named: frozenset[DocumentId]
    texts: Mapping[DocumentId, str]
    created_at: Mapping[DocumentId, datetime]
    missing: tuple[DocumentId, ...]
    rejected: Mapping[DocumentId, str]
    problems: tuple[str, ...]
    unreadable: Mapping[str, str]


def may_report(collector: UUID, active: UUID | None, last_at: datetime | None, *, now: datetime) -> bool:
    """True for the active collector, and for any other once the active one has not reported for a while."""
    return active in (None, collector) or last_at is None or last_at <= now - LEASE


def is_allowed(namespace: str, allowed: Collection[str]) -> bool:
    return EVERY_NAMESPACE in allowed or namespace in allowed


def examine(
    report: Report, *, allowed: Collection[str], published: Mapping[DocumentId, str], most_bytes: int
) -> Findings:
    """Compare a report with what is published: the digests by document.

    allowed: namespaces that the cluster may report. Others are ignored, which is a problem to show.
    """
    documents = [each for each in report.documents if is_allowed(each.id.namespace, allowed)]
    foreign = {each.id.namespace for each in report.documents} - {each.id.namespace for each in documents}
    changed = [each for each in documents if published.get(each.id) != each.digest]
    rejected = {each.id: _too_large(each, most_bytes) for each in changed if each.size > most_bytes}
    wanted = sorted(
        (each for each in changed if each.id not in rejected), key=lambda each: (each.created_at, each.id)
    )
    return Findings(
        named=frozenset(each.id for each in documents),
        texts={each.id: report.texts[each.id] for each in wanted if each.id in report.texts},
        created_at={each.id: each.created_at for each in documents},
        missing=tuple(each.id for each in wanted if each.id not in report.texts),
        rejected=rejected,
        problems=tuple(
            [_not_allowed(namespace) for namespace in sorted(foreign)]
            + [f"{place_of(document)}: {reason}" for document, reason in sorted(rejected.items())]
        ),
        unreadable=_unreadable(
            report.errors, allowed, {each.namespace for each in published.keys() | {e.id for e in documents}}
        ),
    )


def place_of(document: DocumentId) -> str:
    """Return the document as problems name it."""
    return f"{document.namespace}/{document.name}"


def carried(problems: Iterable[str], missing: Iterable[DocumentId]) -> list[str]:
    """Return the problems of documents that were not sent again: they still hold."""
    places = tuple(f"{place_of(document)}: " for document in missing)
    return [problem for problem in problems if places and problem.startswith(places)]


def settle(
    digest: str, since: datetime | None, gone_digest: str, *, now: datetime, quiet: timedelta
) -> tuple[datetime, timedelta]:
    """Return since when exactly these documents are missing, and how long their removal must still wait.

    digest, since: of the documents that were missing before. Deleting a namespace arrives as many single
    removals, each of which is below the limit.
    """
    since = since if since is not None and digest == gone_digest else now
    return since, max(since + quiet - now, timedelta())


def _too_large(document: ReportedDocument, most_bytes: int) -> str:
    return f"the document has {document.size} bytes; the maximum is {most_bytes}. Make it smaller."


def _not_allowed(namespace: str) -> str:
    return (
        f"namespace {namespace[:80]}: the cluster may not report it. An administrator can add it to the"
        " cluster's `namespaces`."
    )


def _unreadable(
    errors: Mapping[str, str], allowed: Collection[str], teams: Collection[str]
) -> Mapping[str, str]:
    """Return errors by namespace. An error of all namespaces is one of each that has documents."""
    of_all = errors.get(EVERY_NAMESPACE)
    if of_all is not None:
        return dict.fromkeys(sorted({EVERY_NAMESPACE, *teams}), of_all)
    return {namespace: reason for namespace, reason in errors.items() if is_allowed(namespace, allowed)}
