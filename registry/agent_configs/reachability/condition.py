"""The condition `Reachable` of documents, updated when it changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.events import log as event_log
from registry.agent_configs import serialization
from registry.agent_configs.bundles.conditions import (
    Condition,
    Status,
    Type,
    reachable_condition,
    with_transition_times,
)
from registry.agent_configs.event_types import CONFIG_STATUS_CHANGED
from registry.agent_configs.models import AgentConfig, AgentConfigStatus
from registry.agent_configs.owners import owner_of
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.reachability.outcomes import load_outcomes, probe_of


def store_reachability(changed: Collection[AgentEndpoint]) -> None:
    """Update the condition of each document with a changed endpoint; append events only for transitions."""
    if not changed:
        return
    lock_publishing()
    outcomes = load_outcomes()
    events: list[event_log.Entry] = []
    rows = []
    for document, statuses in _load_affected_documents(changed):
        content = serialization.content_from_json(document.content)
        reachable = reachable_condition(probe_of(content, outcomes), document.content_generation)
        before = [_find_reachable(row) for row in statuses]
        for row in statuses:
            _replace_condition(row, reachable)
        rows += statuses
        if any(_is_transition(old, reachable) for old in before):
            events.append(_build_event(document, reachable))
    AgentConfigStatus.objects.bulk_update(rows, ["conditions"], batch_size=1000)
    event_log.append_each(events)


def _load_affected_documents(
    changed: Iterable[AgentEndpoint],
) -> Iterable[tuple[AgentConfig, list[AgentConfigStatus]]]:
    names = sorted({endpoint.endpoint for endpoint in changed})
    having = "EXISTS (SELECT FROM jsonb_each(content->'agents') a WHERE a.value->>'endpoint' = ANY(%s))"
    rows = AgentConfig.objects.filter(deleted_at=None, content__isnull=False).defer("text")
    for document in rows.extra(where=[having], params=[names]).order_by("id"):  # noqa: S610
        yield document, list(AgentConfigStatus.objects.filter(document=document).order_by("id"))


def _find_reachable(row: AgentConfigStatus) -> dict[str, Any] | None:
    return next(
        (condition for condition in row.conditions if condition["type"] == Type.REACHABLE.value), None
    )


def _replace_condition(row: AgentConfigStatus, reachable: Condition) -> None:
    before = serialization.conditions_from_json(row.conditions, row.data_plane_id)
    replacements = [
        replace(reachable, observed_generation=condition.observed_generation) for condition in before
    ]
    conditions = [
        new if old.type is Type.REACHABLE else old for old, new in zip(before, replacements, strict=True)
    ]
    row.conditions = [
        serialization.condition_to_json(condition)
        for condition in with_transition_times(conditions, before, now=database_now())
    ]


def _is_transition(before: dict[str, Any] | None, condition: Condition) -> bool:
    """True if the change is an event. The first success is not: it is normal for every new agent."""
    if before is None or before["status"] == condition.status.value:
        return False
    return before["status"] != Status.UNKNOWN.value or condition.status is Status.FALSE


def _build_event(document: AgentConfig, condition: Condition) -> event_log.Entry:
    data = {
        "source": document.source,
        "team": document.team,
        "name": document.name,
        "data_plane": "",
        "condition": condition.type.value,
        "status": condition.status.value,
        "reason": condition.reason,
        "message": condition.message,
    }
    return event_log.Entry(
        CONFIG_STATUS_CHANGED,
        "agent_config",
        str(document.document_id),
        data,
        "system:agent_configs",
        team_id=owner_of(document.team),
    )
