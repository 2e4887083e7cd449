from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate
from django.db.transaction import atomic


class AccessConfig(AppConfig):
    name = "controlplane.access"

    def import_models(self) -> None:
        super().import_models()
        # Tables outside of models.py.
        from controlplane.access import issuer_models, team_models  # noqa: F401  (registers tables)
        from controlplane.access.audit_chain import models as chain_models  # noqa: F401  (registers tables)
        from controlplane.access.login.oidc import models as login_models  # noqa: F401  (registers tables)
        from controlplane.access.oauth import models as oauth_models  # noqa: F401  (registers tables)
        from controlplane.access.scim import models as scim_models  # noqa: F401  (registers tables)

    def ready(self) -> None:
        from controlplane.access import event_types, login_event_types  # noqa: F401  (registers event types)
        from controlplane.access.auth_metrics import SigningKeyCollector
        from controlplane.access.federation import event_types as federation_event_types  # noqa: F401  (the same)
        from controlplane.access.federation.exchange_grants import register_grants
        from controlplane.access.flyte_auth import checks  # noqa: F401  (registers checks)
        from controlplane.access.issuers.external_tokens import find_people_with
        from controlplane.access.login.oidc.token_people import find_person
        from controlplane.access.oauth import event_types as oauth_event_types  # noqa: F401  (the same)
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(SigningKeyCollector())
        register_grants()
        find_people_with(find_person)
        post_migrate.connect(_grant_rights_on_tables, sender=self)
        post_migrate.connect(_ensure_built_in_clients, sender=self)


def _grant_rights_on_tables(using: str, **arguments: Any) -> None:
    """Grant rights on tables after every `migrate`, since web and worker may not change all new tables."""
    from controlplane.database.roles import grant
    from controlplane.database.row_security import set_row_security

    if "plan" in arguments:  # a flush has none
        with atomic(using), connections[using].cursor() as cursor:
            grant(cursor)
            set_row_security(cursor, is_on=settings.ORGANISATIONS)


def _ensure_built_in_clients(using: str, **arguments: Any) -> None:
    """Create the built-in OAuth clients after every `migrate` that has their table, and after a flush."""
    from controlplane.access.flyte_auth.loaded_clients import load_static_clients
    from controlplane.access.oauth.clients import ensure_built_in_clients
    from controlplane.access.oauth.models import OAuthClient

    if OAuthClient._meta.db_table in connections[using].introspection.table_names():
        ensure_built_in_clients()
        load_static_clients()
