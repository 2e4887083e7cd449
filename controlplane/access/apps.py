from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate
from django.db.transaction import atomic


class AccessConfig(AppConfig):
    name = "controlplane.access"

    def import_models(self) -> None:
        super().import_models()
        from controlplane.access import team_models  # noqa: F401  (tables outside of models.py)

    def ready(self) -> None:
        from controlplane.access import event_types  # noqa: F401  (registers event types)
        from controlplane.access.flyte_auth import checks  # noqa: F401  (registers a check)

        post_migrate.connect(_grant_rights_on_tables, sender=self)


def _grant_rights_on_tables(using: str, **arguments: Any) -> None:
    """Grant rights on tables after every `migrate`, since web and worker may not change all new tables."""
    from controlplane.database.roles import grant

    if "plan" in arguments:  # a flush has none
        with atomic(using), connections[using].cursor() as cursor:
            grant(cursor)
