"""Resources that wait for an agent are looked at again as soon as one can take them.

Their own pause grows to a minute. Whatever made an agent able (registration, approval, a healthy provider, a
consumer, the end of a drain or guard), one of each kind of waiting resource shows it.
"""

from __future__ import annotations

from django.db import connection, transaction

from registry.dispatch import storage
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement.place import find_agent

# Kinds of waiting resources in one run.
_KINDS = 50


def wake_waiting() -> int:
    """Make waiting resources due that an agent could take now; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES, {"kinds": _KINDS})
        samples = [resource_id for (resource_id,) in cursor.fetchall()]
    return sum(
        _wake_like(sample) for sample in ResourceRow.objects.filter(id__in=samples) if _can_place(sample)
    )


@transaction.atomic
def _can_place(sample: ResourceRow) -> bool:
    loaded = storage.load(sample)
    return find_agent(loaded, loaded.resource).chosen is not None


def _wake_like(sample: ResourceRow) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAKE, {"sample": sample.id})
        return int(cursor.rowcount)


# One that was never placed comes first: no agent is excluded for it.
_SAMPLES = """
SELECT DISTINCT ON (service_type, team_id, constraints) id FROM registry_resource
WHERE state = 'pending' AND placement_tries > 0 AND due_at > statement_timestamp()
    AND placed_at < statement_timestamp() - interval '4 seconds'
ORDER BY service_type, team_id, constraints, epoch, id LIMIT %(kinds)s
"""
_WAKE = """
WITH waiting AS (
    SELECT waiting.id FROM registry_resource AS waiting JOIN registry_resource AS sample
        ON sample.id = %(sample)s AND sample.service_type = waiting.service_type
        AND sample.team_id IS NOT DISTINCT FROM waiting.team_id
        AND sample.constraints = waiting.constraints
    WHERE waiting.state = 'pending' AND waiting.placement_tries > 0 AND waiting.due_at > statement_timestamp()
        AND waiting.placed_at < statement_timestamp() - interval '4 seconds'
    ORDER BY waiting.id FOR UPDATE OF waiting SKIP LOCKED
)
UPDATE registry_resource AS resource SET due_at = statement_timestamp(), placed_at = NULL
FROM waiting WHERE waiting.id = resource.id
"""
