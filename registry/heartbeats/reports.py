"""Reports: conditions, versions and provider health that an agent sends with a heartbeat.

They rarely change. The lease has a digest of the last one, so that an unchanged report costs a comparison.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from registry.agents.models import AgentReport

PARTS = ("conditions", "versions", "providers")


@dataclass(frozen=True, slots=True)
class Report:
    """parts: those that were sent; each replaces the stored one. digest: of the parts."""

    parts: Mapping[str, Any]
    digest: bytes


def digest_of(body: Mapping[str, Any]) -> bytes | None:
    """Return a digest of 16 bytes of the report in a heartbeat's body; None without a report."""
    parts = {name: body[name] for name in PARTS if name in body}
    if not parts:
        return None
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:16]


def store_report(agent_id: UUID, report: Report) -> None:
    """Store the parts of the report. Needs a transaction that has locked the agent's lease."""
    AgentReport.objects.update_or_create(agent_id=agent_id, defaults={**report.parts, "changed_at": Now()})
