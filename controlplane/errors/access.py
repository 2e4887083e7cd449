"""Errors of logins, permissions and secrets. Pure."""

from __future__ import annotations

from controlplane.errors.base import ControlplaneError


class NotAuthenticated(ControlplaneError):
    code = "not_authenticated"
    title = "Authentication required"


class PermissionDenied(ControlplaneError):
    code = "permission_denied"
    title = "Permission denied"


class StepUpRequired(PermissionDenied):
    """The login is too old or too weak for the action. Members: max_age in seconds, acr_values."""

    code = "insufficient_user_authentication"
    title = "Recent login required"


class SecretsUnavailable(ControlplaneError):
    code = "secrets_unavailable"
    title = "Stored secrets unavailable"
