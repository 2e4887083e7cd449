"""Whether a sink may get an event: with its creator's permissions at the time of the delivery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.events.event_filter import EventFilter, teams_in
from controlplane.events.visibility import event_filter_for
from controlplane.identity.callers import Caller


@dataclass(frozen=True, slots=True)
class _Rights:
    """What a principal may read. caller: None if it is disabled. ends_at: of its first grant to end."""

    caller: Caller | None
    event_filter: EventFilter | None
    ends_at: datetime | None


class Audience:
    """The permissions of creators, kept for as long as the access epoch stays.

    The epoch is read before each batch, so that a revoked role has no effect from the next batch on.
    """

    def __init__(self) -> None:
        self._epoch: object = None
        self._rights: dict[UUID, _Rights] = {}

    def refresh(self) -> datetime:
        """Forget what has changed; return Postgres' time."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT epoch, statement_timestamp() FROM access_epoch WHERE id = 1")
            epoch, now = cursor.fetchone()
        if epoch != self._epoch:
            self._epoch, self._rights = epoch, {}
        self._rights = {
            key: rights
            for key, rights in self._rights.items()
            if rights.ends_at is None or rights.ends_at > now
        }
        return now  # type: ignore[no-any-return]  # of Postgres

    def caller(self, principal_id: UUID) -> Caller | None:
        """Return the principal as a caller; None if it is disabled."""
        return self._of(principal_id).caller

    def shows(self, principal_id: UUID, event: LoggedEvent) -> bool:
        event_filter = self._of(principal_id).event_filter
        return event_filter is not None and event_filter.shows(
            event.type, event.scope, teams_in(event.data), event.team_id
        )

    def _of(self, principal_id: UUID) -> _Rights:
        if principal_id not in self._rights:
            self._rights[principal_id] = _read(principal_id)
        return self._rights[principal_id]


def _read(principal_id: UUID) -> _Rights:
    principal = Principal.objects.get(id=principal_id)
    if not principal.is_active:
        return _Rights(None, None, None)
    caller = caller_for(principal)
    return _Rights(caller, event_filter_for(caller), caller.grants_end_at)
