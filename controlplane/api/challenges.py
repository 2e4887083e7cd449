"""Challenges of 401 responses (RFC 6750, RFC 9470)."""

from __future__ import annotations

from controlplane.errors import ControlplaneError, StepUpRequired


def challenge_for(error: ControlplaneError) -> str:
    """Return the value of WWW-Authenticate for an error with status 401."""
    if not isinstance(error, StepUpRequired):
        return "Bearer"
    parameters = {"error": error.code, "error_description": error.detail}
    if (max_age := error.members.get("max_age")) is not None:
        parameters["max_age"] = str(max_age)
    if acr_values := error.members.get("acr_values"):
        parameters["acr_values"] = " ".join(acr_values)
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in parameters.items())


def _quotable(value: str) -> str:
    return value.replace("\\", "").replace('"', "'")
