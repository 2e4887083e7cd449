"""Where this installation's events come from, by its settings."""

from __future__ import annotations

from django.conf import settings

from controlplane.delivery.cloudevents import Origin


def origin() -> Origin:
    return Origin(settings.PUBLIC_URL or "http://localhost:8000", settings.CLOUDEVENTS_SOURCE)
