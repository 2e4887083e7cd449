"""Revisions: one number for each transaction that changes effective values anywhere.

Every change first locks the counter. So changes are serialized, their revisions commit in order, and no two
can race for one address. Changes are rare (people and pipelines make them), and nothing else waits for
that row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import connection
from django.db.models import Min

from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from controlplane.pools.quotas import is_defined_sql
from overrides.models import Domain, Revision, RevisionCounter
from overrides.quotas import OVERRIDE_DOCUMENTS


def lock_revisions() -> int:
    """Take the lock that every change needs; return the current revision. Needs a transaction."""
    return int(RevisionCounter.objects.select_for_update().get(id=1).revision)


def current_revision() -> int:
    return int(RevisionCounter.objects.get(id=1).revision)


def take_revision(actor: Actor, *, changes: int, everything: bool = False) -> Revision:
    """Write the next revision. The caller holds the lock."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [actor.name, actor.reason, actor.ticket, actor.request_id, changes, everything])
        row = cursor.fetchone()
    taken = Revision(
        revision=row[0],
        made_at=row[1],
        made_by=actor.name,
        change_message=actor.reason,
        ticket=actor.ticket,
        request_id=actor.request_id,
        changes=changes,
        everything=everything,
    )
    taken.has_quota = row[2]
    return taken


def jump_to(target: Callable[[int], int]) -> int:
    """Set the counter to what the function makes of it; return that. Needs a transaction."""
    revision = target(lock_revisions())
    RevisionCounter.objects.filter(id=1).update(revision=revision)
    return revision


def revision_at(moment: datetime) -> int:
    """Return the last revision made at or before the moment; 0 if there was none yet.

    Raises InvalidRequest if nothing is known about that moment.
    """
    made = Revision.objects.filter(made_at__lte=moment).order_by("-made_at", "-revision")
    revision = made.values_list("revision", flat=True).first()
    return _known_before_changes(moment) if revision is None else int(revision)


def _known_before_changes(moment: datetime) -> int:
    """Return 0 if the installation existed at a moment before its first change. Raises InvalidRequest."""
    # The first migration registers domains.
    began = Domain.objects.aggregate(began=Min("created_at"))["began"]
    if began is not None and moment < began:
        earliest = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = f"This installation began at {earliest}. Nothing is known about values before then."
        raise InvalidRequest(message, errors=[FieldError("?as_of", "before_beginning", message)])
    return 0


def check_revision(revision: int) -> int:
    """Return the revision if it exists. Raises InvalidRequest."""
    if revision > (last := current_revision()):
        message = f"Revision {revision} does not exist. The latest revision is {last}."
        raise InvalidRequest(message, errors=[FieldError("?as_of", "not_made_yet", message)])
    return revision


# clock_timestamp, not now(): a transaction that began earlier may get the lock later.
_TAKE = f"""
WITH counter AS (UPDATE overrides_revisioncounter SET revision = revision + 1 WHERE id = 1 RETURNING revision)
INSERT INTO overrides_revision
    (revision, made_at, made_by, change_message, ticket, request_id, changes, everything)
SELECT revision, clock_timestamp(), %s, %s, %s, %s, %s, %s FROM counter
RETURNING revision, made_at, {is_defined_sql(OVERRIDE_DOCUMENTS)}
"""  # noqa: S608  (SQL of our own)
