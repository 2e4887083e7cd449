"""A pause of all changes, for maintenance: reads go on, and changes are refused with its reason.

A trigger of each table looks at one row. So a pause holds for all processes at once, whatever their
connections, and nothing has to be asked before a statement. See docs/adr/0081.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import FieldError, InvalidRequest
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.installation.event_types import CHANGES_PAUSED, CHANGES_RESUMED
from controlplane.installation.models import Pause

MAX_REASON = 200
_POLL_SECONDS = 0.05
_when_resumed: list[Callable[[], None]] = []


def when_resumed(do: Callable[[], None]) -> None:
    """Register what happens in the transaction that ends a pause. Apps call it when they are ready."""
    _when_resumed.append(do)


def current_pause() -> Pause | None:
    """Return the pause; None while changes are accepted."""
    return Pause.objects.filter(is_on=True).first()


@transaction.atomic
def pause(reason: str, *, actor: Actor) -> bool:
    """Refuse all changes from now on, or give the pause another reason. Raises InvalidRequest.

    Return False if it was on, with that reason.
    """
    reason = _checked(reason)
    row = Pause.objects.select_for_update().get(id=1)
    if row.is_on:
        changed = row.reason != reason
        Pause.objects.filter(id=1).update(reason=reason)
        return changed
    data = {"reason": reason}
    audit.record(CHANGES_PAUSED, "installation", "changes", actor=actor, before=None, after=data, data=data)
    # Numbering is a change too: so followers see the event now, and not at the end of the pause.
    log.number_committed()
    Pause.objects.filter(id=1).update(is_on=True, reason=reason, since=Now(), set_by=actor.name)
    return True


@transaction.atomic
def resume(*, actor: Actor) -> timedelta | None:
    """Accept changes again; return how long the pause was, None if there was none."""
    row = Pause.objects.select_for_update().annotate(now=Now()).get(id=1)
    if not row.is_on:
        return None
    Pause.objects.filter(id=1).update(is_on=False)
    for do in _when_resumed:
        do()
    before, length = {"reason": row.reason}, row.now - row.since
    data = {**before, "seconds": int(length.total_seconds())}
    audit.record(
        CHANGES_RESUMED, "installation", "changes", actor=actor, before=before, after=None, data=data
    )
    return length


def wait_for_writers(seconds: float) -> list[int]:
    """Wait until what was being written when this was called has ended; return processes that still write.

    A statement that had passed its trigger before the pause began may still be at work.
    """
    deadline = time.monotonic() + seconds
    writers = _writers()
    while writers and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        writers = {key: pid for key, pid in _writers().items() if key in writers}
    return sorted(writers.values())


def _writers() -> dict[str, int]:
    """Return transactions with locks that only those have that write, with their processes."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITERS)
        return dict(cursor.fetchall())


def _checked(reason: str) -> str:
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= MAX_REASON:
        message = f"Say why, in 1 to {MAX_REASON} characters: everybody whose change is refused reads it."
        raise InvalidRequest(message, errors=[FieldError("/reason", "invalid", message)])
    return reason


# Locks of tables are visible to every role; what statements do is not. Below 16384 are Postgres' own tables.
_WRITERS = """
SELECT DISTINCT ON (virtualtransaction) virtualtransaction, pid FROM pg_locks
 WHERE locktype = 'relation' AND granted AND relation >= 16384 AND pid <> pg_backend_pid()
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')
"""
