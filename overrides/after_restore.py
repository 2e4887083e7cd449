"""After a restore from a backup: what was lost is never taken for what happens next.

Clients have seen numbers of events and revisions that the restored database does not know. So both counters
jump beyond them, caches are emptied, and followers of lost events get the number after which they continue.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache
from django.db import connection, transaction
from redis.exceptions import RedisError

from controlplane.access import audit
from controlplane.errors import FieldError, InvalidRequest
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.installation.event_types import RESTORED
from overrides.loading.revisions import jump_to

JUMP = 1_000_000
# Room for a thousand million jumps in the column's type.
_MOST = 10**15


@dataclass(frozen=True, slots=True)
class Restored:
    """last_event: of the restored log. first_event: the least number of an event from now on.

    revision: that the next change of overrides is above.
    """

    last_event: int
    first_event: int
    revision: int


def beyond(restored: int, last_known: int) -> int:
    """Return a number that nobody has seen. last_known: the highest that somebody says to have seen."""
    return max(restored, last_known) + JUMP


@transaction.atomic
def forget_what_was_lost(*, last_known_event: int, last_known_revision: int, actor: Actor) -> Restored:
    """Make counters jump, and empty caches. Raises InvalidRequest. Safe to repeat.

    0: nobody knows; then the jump alone must be beyond what was lost.
    """
    for name, number in (
        ("last_known_event", last_known_event),
        ("last_known_revision", last_known_revision),
    ):
        if not 0 <= number <= _MOST:
            message = f"It must be from 0 to {_MOST}: the highest number that a client has seen."
            raise InvalidRequest(message, errors=[FieldError(f"/{name}", "out_of_range", message)])
    # Before anything is numbered: events without numbers may have had some, after the backup was made.
    last = log.lock_numbering()
    first = beyond(last, last_known_event)
    log.skip_to(first)
    revision = jump_to(lambda current: beyond(current, last_known_revision))
    with connection.cursor() as cursor:
        for epoch in _EPOCHS:
            cursor.execute(epoch)
    restored = Restored(last, first + 1, revision)
    data = {"last_event": last, "first_event": first + 1, "revision": revision}
    audit.record(RESTORED, "installation", "database", actor=actor, before=None, after=data, data=data)
    return restored


def empty_shared_cache() -> bool:
    """Empty the cache in Valkey; return False if it cannot be reached: what is in it ends by itself."""
    try:
        cache.clear()
    except (RedisError, OSError):
        return False
    return True


# Whatever processes remember belongs to one of these.
_EPOCHS = (
    "UPDATE access_epoch SET epoch = gen_random_uuid() WHERE id = 1",
    "UPDATE overrides_catalogueepoch SET epoch = gen_random_uuid(), contents = gen_random_uuid()",
)
