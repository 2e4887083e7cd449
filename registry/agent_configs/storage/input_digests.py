"""Digests of all inputs of a recompute: equal digests mean that there is nothing to do.

Comparing digests needs no dirty flags, which a crash could lose.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q

from registry.agent_configs.documents.content import digest_of
from registry.agent_configs.models import AgentConfigQuarantine, DataPlane
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.reachability.policies import new_documents_wait
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.stages import find_unsettled_earlier_planes

_HOUR = 3600


def common_inputs_digest(now: datetime) -> str:
    """Return the digest of the common inputs. It includes the hour, because claims and generations expire."""
    hour = int(now.timestamp()) // _HOUR
    with connection.cursor() as cursor:
        cursor.execute(_ROWS)
        rows = cursor.fetchone()
    quarantines = AgentConfigQuarantine.objects.filter(Q(until=None) | Q(until__gt=now)).order_by("id")
    quarantine_rows = [
        list(map(str, row)) for row in quarantines.values_list("id", "data_plane_id", "fallback")
    ]
    policy_texts = [
        repr(policies.claim_policy().naming),
        repr(policies.gate_limits()),
        repr(policies.generation_policy()),
        repr(policies.default_timeouts()),
    ]
    more = [
        settings.AGENT_CONFIGS_MODE,
        settings.AGENT_CONFIGS_GRACE_SECONDS,
        *_policy_values(),
        _endpoint_values(),
    ]
    return digest_of([hour, list(rows), quarantine_rows, policy_texts, more])


def plane_inputs_digest(plane: DataPlane, common: str) -> str:
    own: list[Any] = [plane.version, plane.active_revision, plane.applied_revision, plane.ack_state]
    alerted = plane.alerted_revision == plane.active_revision
    lists = [sorted(plane.approved), sorted(plane.rejected), list(find_unsettled_earlier_planes(plane))]
    return digest_of([common, own, alerted, plane.trial, *lists])


def _policy_values() -> list[Any]:
    policy = policies.claim_policy()
    return [
        sorted(policy.reserved_task_types),
        policy.tie_rule.value,
        policy.flag,
        policy.strict_endpoints,
    ]


def _endpoint_values() -> list[list[str]]:
    """Return the endpoints' status if new documents wait for reachable agents, else nothing."""
    if not new_documents_wait():
        return []
    rows = AgentEndpoint.objects.order_by("endpoint", "insecure").values_list(
        "endpoint", "insecure", "status"
    )
    return [list(map(str, row)) for row in rows.exclude(checked_at=None)]


_ROWS = """
SELECT
  (SELECT md5(string_agg(id::text || ':' || generation || ':' || (deleted_at IS NULL), ',' ORDER BY id))
   FROM registry_agentconfig),
  (SELECT md5(string_agg(team || ':' || kind || ':' || pattern, ',' ORDER BY id))
   FROM registry_agentconfiggrant),
  (SELECT md5(string_agg(team || ':' || kind || ':' || name, ',' ORDER BY id))
   FROM registry_agentconfigrelease),
  (SELECT md5(string_agg(team || ':' || kind || ':' || name, ',' ORDER BY id))
   FROM registry_agentconfigpin WHERE until IS NULL OR until > statement_timestamp()),
  (SELECT md5(string_agg(slug || ':' || organisation, ',' ORDER BY slug))
   FROM registry_teampublishing JOIN access_team ON id = team_id),
  (SELECT md5(string_agg(is_synced::text, ',')) FROM registry_agentconfigfolder),
  (SELECT md5(string_agg(is_synced::text, ',')) FROM registry_agentconfigcluster),
  (SELECT md5(string_agg(name, ',' ORDER BY name)) FROM registry_registeredcluster WHERE NOT is_synced)
"""
