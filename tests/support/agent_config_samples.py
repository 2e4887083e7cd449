"""Documents for tests: a test says only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.claims.verdicts import Verdict
from registry.agent_configs.documents.content import Content, Deployment
from registry.agent_configs.documents.published import (
    Canary,
    ClaimKey,
    ClaimKind,
    DocumentId,
    PublishedDocument,
)

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def agent(endpoint: str = "agent.acme:8000", **settings: Any) -> Deployment:
    return Deployment(endpoint, **settings)


def content(routes: dict[str, str], agents: dict[str, Deployment] | None = None, *defaults: str) -> Content:
    """Agents that are only named get an endpoint of their own."""
    named = {name: agent(f"{name}.svc:8000") for name in routes.values() if name}
    return Content(named if agents is None else agents, routes, frozenset(defaults))


def published(
    name: str, team: str = "acme", said: Content | None = None, *, age: int = 0, **more: Any
) -> PublishedDocument:
    """A document; the greater its age, in hours, the older it is."""
    document = DocumentId("cluster", team, name)
    said = said if said is not None else content({f"{name}_task": name})
    created_at = NOW - timedelta(hours=age)
    return PublishedDocument(document, team, more.pop("generation", 1), said, created_at, **more)


def task(name: str, version: int = 0, pin: str = "") -> ClaimKey:
    return ClaimKey(ClaimKind.TASK_TYPE, name, version, pin)


def named(name: str) -> ClaimKey:
    return ClaimKey(ClaimKind.AGENT, name)


def verdict(decision: Decision, document: PublishedDocument, key: ClaimKey) -> Verdict:
    (verdict_found,) = (verdict for verdict in decision.of(document.id) if verdict.claim.key == key)
    return verdict_found


def fates(decision: Decision) -> dict[tuple[str, str], str]:
    """Reasons by document and claim, for reading in one glance."""
    return {
        (verdict.claim.document.name, str(verdict.claim.key)): verdict.reason.value
        for verdict in decision.verdicts
    }


__all__ = [
    "NOW",
    "Canary",
    "agent",
    "content",
    "fates",
    "named",
    "published",
    "task",
    "verdict",
]
