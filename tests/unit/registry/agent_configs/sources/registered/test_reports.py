"""What follows from a report: what is missing, what is ignored, who may report, and what must settle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.sources.registered.reports import (
    LEASE,
    Findings,
    Report,
    ReportedDocument,
    carried,
    examine,
    may_report,
    settle,
)

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ME, OTHER = UUID(int=1), UUID(int=2)


def name(place: str) -> DocumentId:
    namespace, document = place.split("/")
    return DocumentId("eu", namespace, document)


def listed(place: str, digest: str = "new", *, size: int = 10, age: int = 0) -> ReportedDocument:
    return ReportedDocument(name(place), digest, size, NOW - timedelta(seconds=age))


def examined(
    *documents: ReportedDocument, allowed: tuple[str, ...] = ("acme", "beta"), **more: dict
) -> Findings:
    published = more.pop("published", {})
    return examine(Report(documents, **more), allowed=allowed, published=published, most_bytes=100)


def test_changed_and_new_documents_are_missing_oldest_first():
    findings = examined(
        listed("acme/young", age=1),
        listed("beta/old", age=9),
        listed("acme/old", age=9),
        listed("acme/same", "same"),
        published={name("acme/same"): "same", name("acme/young"): "before"},
    )
    assert findings.missing == (name("acme/old"), name("beta/old"), name("acme/young"))
    assert len(findings.named) == 4


def test_a_text_that_is_not_needed_is_not_published_again():
    texts = {name("acme/a"): "new text", name("acme/same"): "text"}
    findings = examined(
        listed("acme/a"),
        listed("acme/same", "same"),
        listed("acme/b"),
        texts=texts,
        published={name("acme/same"): "same"},
    )
    assert findings.texts == {name("acme/a"): "new text"}
    assert findings.missing == (name("acme/b"),)


def test_namespaces_that_are_not_allowed_are_ignored_and_named_once():
    findings = examined(listed("acme/a"), listed("secret/a"), listed("secret/b"))
    assert findings.named == {name("acme/a")}
    assert [problem.partition(":")[0] for problem in findings.problems] == ["namespace secret"]
    assert examined(listed("secret/a"), allowed=("*",)).problems == ()


def test_a_document_above_the_limit_is_a_problem_and_still_exists():
    findings = examined(listed("acme/huge", size=101), listed("acme/fits", size=100))
    assert findings.missing == (name("acme/fits"),)
    assert name("acme/huge") in findings.named
    assert findings.rejected.keys() == {name("acme/huge")}
    assert findings.problems[0].startswith("acme/huge: ")


def test_an_error_of_all_namespaces_is_one_of_each_with_documents():
    published = {name("gone/a"): "x"}
    findings = examined(listed("acme/a"), errors={"*": "403", "beta": "404"}, published=published)
    assert findings.unreadable == {"*": "403", "acme": "403", "gone": "403"}
    assert examined(errors={"beta": "404", "secret": "404"}).unreadable == {"beta": "404"}


@pytest.mark.parametrize(
    ("active", "last_at", "may"),
    [
        (None, None, True),
        (ME, NOW, True),
        (OTHER, NOW, False),
        (OTHER, NOW - LEASE + timedelta(microseconds=1), False),
        (OTHER, NOW - LEASE, True),
        (OTHER, None, True),
    ],
)
def test_one_collector_reports_until_it_is_silent(active, last_at, may):
    assert may_report(ME, active, last_at, now=NOW) is may


def test_removals_wait_until_no_more_arrive():
    quiet = timedelta(seconds=5)
    since, wait = settle("", None, "one", now=NOW, quiet=quiet)
    assert (since, wait) == (NOW, quiet)
    assert settle("one", NOW, "one", now=NOW + timedelta(seconds=3), quiet=quiet) == (
        NOW,
        timedelta(seconds=2),
    )
    later = NOW + timedelta(seconds=4)
    assert settle("one", NOW, "two", now=later, quiet=quiet) == (later, quiet)
    assert settle("two", later, "two", now=later + quiet, quiet=quiet)[1] == timedelta()


def test_problems_of_documents_that_were_not_sent_again_still_hold():
    problems = ["acme/a: too many", "acme/ab: other", "namespace acme: 403"]
    assert carried(problems, [name("acme/a")]) == ["acme/a: too many"]
    assert carried(problems, []) == []
