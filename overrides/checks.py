"""Start-up checks of overrides: a wrong file of platform defaults must stop the start, not a request."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from overrides.loading.platform_defaults import problem


@register
def platform_defaults_can_be_read(**kwargs: Any) -> list[CheckMessage]:
    wrong = problem()
    return [Error(f"PLATFORM_DEFAULTS_PATH: {wrong}", id="overrides.E001")] if wrong else []


@register
def files_have_a_folder(**kwargs: Any) -> list[CheckMessage]:
    if settings.OVERRIDES_SOURCE == "file" and not settings.OVERRIDES_PATH:
        return [Error("OVERRIDES_SOURCE is file, so OVERRIDES_PATH must name a folder.", id="overrides.E002")]
    return []
