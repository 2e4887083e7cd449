"""Start-up check of Flyte's configuration of authentication: what in it has no effect."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register
def flyte_configuration_has_effect(**kwargs: Any) -> list[CheckMessage]:
    return [Warning(warning, id="access.W001") for warning in settings.FLYTE_AUTH_WARNINGS]
