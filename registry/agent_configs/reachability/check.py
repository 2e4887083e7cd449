"""Probe due endpoints and store the outcomes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from registry.agent_configs.reachability import policies
from registry.agent_configs.reachability.condition import store_reachability
from registry.agent_configs.reachability.judge import Outcome, judge_outcome, seconds_until_next_probe
from registry.agent_configs.reachability.metrics import PROBES
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.reachability.probe import probe

# More than the steps of one probe; a slow name resolution is abandoned.
_MAX_PROBE_STEPS = 5


def check_endpoints() -> int:
    """Probe due endpoints, up to the limit, and return how many changed."""
    if not policies.probes_are_enabled():
        return 0
    synchronise_endpoints()
    endpoints = _claim_due_endpoints(settings.AGENT_PROBES_AT_ONCE)
    outcomes = _probe_all(endpoints)
    with transaction.atomic():
        changed = [row for row in endpoints if row.id in outcomes and _store_outcome(row, outcomes[row.id])]
        store_reachability(changed)
    return len(changed)


def synchronise_endpoints() -> None:
    """Synchronise the rows with the endpoints of valid documents. New ones become due at random times."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ADD, [settings.AGENT_PROBE_LOOK_SECONDS])
        cursor.execute(_REMOVE)


@transaction.atomic
def _claim_due_endpoints(most: int) -> list[AgentEndpoint]:
    """Claim due endpoints; concurrent workers claim others."""
    due = AgentEndpoint.objects.select_for_update(skip_locked=True).filter(due_at__lte=Now())
    endpoints = list(due.order_by("due_at")[:most])
    # If this process dies, they become due again.
    later = Now() + timedelta(seconds=settings.AGENT_PROBE_SECONDS)
    AgentEndpoint.objects.filter(id__in=[endpoint.id for endpoint in endpoints]).update(due_at=later)
    return endpoints


def _probe_all(rows: Sequence[AgentEndpoint]) -> dict[int, Outcome]:
    if not rows:
        return {}
    rules = policies.probe_rules()
    pool = ThreadPoolExecutor(len(rows), thread_name_prefix="probe")
    futures = {pool.submit(probe, row.endpoint, insecure=row.insecure, rules=rules): row.id for row in rows}
    done, _ = wait(futures, timeout=_MAX_PROBE_STEPS * rules.seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    outcomes = {futures[future]: future.result() for future in done}
    for outcome in outcomes.values():
        PROBES.labels(outcome.reason).inc()
    return outcomes


def _store_outcome(row: AgentEndpoint, outcome: Outcome) -> bool:
    """Store an outcome and return whether the endpoint's status changed."""
    finding = judge_outcome(row.finding, outcome, policies.probe_thresholds())
    seconds = seconds_until_next_probe(finding, settings.AGENT_PROBE_SECONDS, random.random())  # noqa: S311  (jitter)
    new_outcome = finding.outcome
    AgentEndpoint.objects.filter(id=row.id).update(
        status=new_outcome.status.value,
        reason=new_outcome.reason,
        message=new_outcome.message,
        reported=None if new_outcome.reported is None else sorted(new_outcome.reported),
        leaning=finding.leaning.value,
        streak=finding.streak,
        due_at=Now() + timedelta(seconds=seconds),
        checked_at=Now(),
    )
    return new_outcome != row.outcome


_NAMED = """
SELECT DISTINCT agent.value->>'endpoint' AS endpoint, (agent.value->>'insecure')::boolean AS insecure
FROM registry_agentconfig d CROSS JOIN LATERAL jsonb_each(d.content->'agents') AS agent
WHERE d.deleted_at IS NULL AND d.content IS NOT NULL
"""
_ADD = f"""
INSERT INTO registry_agentendpoint (endpoint, insecure, due_at)
SELECT named.endpoint, named.insecure, now() + random() * make_interval(secs => %s)
FROM ({_NAMED}) AS named WHERE length(named.endpoint) <= 1000
ON CONFLICT DO NOTHING
"""  # noqa: S608  (no external input)
_REMOVE = f"""
DELETE FROM registry_agentendpoint e
WHERE NOT EXISTS (SELECT FROM ({_NAMED}) AS named
                  WHERE named.endpoint = e.endpoint AND named.insecure = e.insecure)
"""  # noqa: S608
