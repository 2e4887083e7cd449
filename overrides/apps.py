from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate

from controlplane.delivery.flavours import Encode, Flavour, register_flavours
from controlplane.extras import is_installed
from controlplane.observability.metrics import publish


class OverridesConfig(AppConfig):
    name = "overrides"

    def ready(self) -> None:
        from controlplane.installation.facts import show_sources
        from controlplane.pools.namespace_quotas import read_namespace_quotas_with
        from overrides import checks, event_types, quotas  # noqa: F401  (they register themselves)
        from overrides.file_source.followed_folder import followed_folder
        from overrides.namespace_quotas import read_namespace_quotas

        read_namespace_quotas_with(read_namespace_quotas)
        show_sources(followed_folder)

        if is_installed("flyte"):
            post_migrate.connect(_make_flyte_sinks, sender=self)
            publish("flyteadmin", _admin_metrics)
            register_flavours([flavour for flavour in Flavour if flavour.product == "flyte"], _flyte_encoder)


def _make_flyte_sinks(using: str, **arguments: Any) -> None:
    """Make the sinks of FLYTE_CLOUD_EVENTS_FILE after every `migrate`. The log has what is wrong with it."""
    if settings.FLYTE_CLOUD_EVENTS_FILE and "plan" in arguments:  # a flush has none
        from overrides.flyte.cloud_events_file.applying import apply_file

        apply_file(settings.FLYTE_CLOUD_EVENTS_FILE)


def _admin_metrics() -> bytes:
    from overrides.flyte.admin_metrics import admin_exposition

    return admin_exposition()


def _flyte_encoder() -> Encode:
    # Not at the start: most processes send no events.
    from overrides.flyte.flavours.encoders import encode

    return encode
