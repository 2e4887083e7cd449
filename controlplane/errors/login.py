"""Errors of logins at identity providers. Pure."""

from __future__ import annotations

from controlplane.errors.base import ControlplaneError


class LoginRefused(ControlplaneError):
    code = "login_refused"
    title = "Login refused"


class TooManyGroups(ControlplaneError):
    code = "too_many_groups"
    title = "Too many groups"


class RedirectNotAllowed(ControlplaneError):
    code = "redirect_not_allowed"
    title = "Redirect not allowed"


class InvalidIdentityProvider(ControlplaneError):
    code = "invalid_identity_provider"
    title = "Invalid identity provider"


class SettingIsReadOnly(ControlplaneError):
    code = "setting_is_read_only"
    title = "Configured by the operator"
