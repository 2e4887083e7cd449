"""Challenges of 401 responses (RFC 6750, RFC 9470)."""

from __future__ import annotations

from django.conf import settings

from controlplane.access.oauth.metadata import challenge
from controlplane.errors import ControlplaneError, StepUpRequired


def challenge_for(error: ControlplaneError, *, has_token: bool = False) -> str:
    """Return the value of WWW-Authenticate for an error with status 401. has_token: the request had one."""
    if not isinstance(error, StepUpRequired):
        return challenge(settings.PUBLIC_URL, is_invalid=has_token)
    parameters = {"error": error.code, "error_description": error.detail}
    if (max_age := error.members.get("max_age")) is not None:
        parameters["max_age"] = str(max_age)
    if acr_values := error.members.get("acr_values"):
        parameters["acr_values"] = " ".join(acr_values)
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in parameters.items())


def _quotable(value: str) -> str:
    return value.replace("\\", "").replace('"', "'")
