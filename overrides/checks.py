"""Start-up checks of overrides: an invalid file of platform defaults must prevent the start."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from overrides.loading.platform_defaults import problem


@register
def platform_defaults_can_be_read(**kwargs: Any) -> list[CheckMessage]:
    error = problem()
    return [Error(f"PLATFORM_DEFAULTS_PATH: {error}", id="overrides.E001")] if error else []


@register
def files_have_a_folder(**kwargs: Any) -> list[CheckMessage]:
    if settings.OVERRIDES_SOURCE == "file" and not settings.OVERRIDES_PATH:
        return [
            Error(
                "OVERRIDES_SOURCE is file, but OVERRIDES_PATH is empty. Set it to a folder.",
                id="overrides.E002",
            )
        ]
    return []
