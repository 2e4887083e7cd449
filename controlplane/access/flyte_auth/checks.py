"""Start-up checks of Flyte's configuration of authentication."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from controlplane.access.flyte_auth.external_metadata import external_server


@register
def flyte_configuration_has_effect(**kwargs: Any) -> list[CheckMessage]:
    return [Warning(warning, id="access.W001") for warning in settings.FLYTE_AUTH_WARNINGS]


@register
def external_server_is_configured(**kwargs: Any) -> list[CheckMessage]:
    if "external" in settings.AUTH_SERVER and not external_server():
        message = "AUTH_SERVER contains external, but EXTERNAL_ISSUERS and EXTERNAL_AUTH_SERVER are empty."
        return [Error(f"{message} Set one of them.", id="access.E001")]
    return []
