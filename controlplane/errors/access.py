"""Errors of secrets and of logins. Pure."""

from __future__ import annotations

from controlplane.errors.base import ControlplaneError


class SecretsUnavailable(ControlplaneError):
    code = "secrets_unavailable"
    title = "Stored secrets unavailable"
