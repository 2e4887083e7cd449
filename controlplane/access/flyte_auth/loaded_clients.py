"""OAuth clients from upstream's `staticClients`."""

from __future__ import annotations

from django.conf import settings

from controlplane.access.flyte_auth.client_specs import client_specs
from controlplane.access.oauth.clients import ensure_client


def load_static_clients() -> list[str]:
    """Create or update the clients of the settings, and return their ids."""
    specs = client_specs(settings.FLYTE_STATIC_CLIENTS)
    for spec in specs:
        ensure_client(spec)
    return [spec.client_id for spec in specs]
