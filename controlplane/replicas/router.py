"""Django's router: reads of requests that allow it go to the replica, all else to the primary."""

from __future__ import annotations

from typing import Any

from django.db import DEFAULT_DB_ALIAS, models

from controlplane.replicas.reading import REPLICA, is_on_replica

# Who may do what, idempotency, leaders: never from a replica, whatever the request allows.
_PRIMARY_ALONE = frozenset(("access", "api", "cluster", "members"))
_EXCEPT = frozenset(("access.auditrecord",))


class ReplicaRouter:
    """Only installed if there are replicas."""

    def db_for_read(self, model: type[models.Model], **hints: Any) -> str:
        return REPLICA if is_on_replica() and may_be_stale(model) else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[models.Model], **hints: Any) -> str:
        """Return the primary: also for rows that were read from a replica."""
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: models.Model, other: models.Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def may_be_stale(model: type[models.Model]) -> bool:
    return model._meta.app_label not in _PRIMARY_ALONE or model._meta.label_lower in _EXCEPT
