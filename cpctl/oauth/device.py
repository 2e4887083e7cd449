"""Login with a code that is entered on another device (RFC 8628)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cpctl.contexts import Login
from cpctl.errors import UsageError
from cpctl.oauth.endpoints import Endpoints, OAuthFailed, post_form, request_token

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What to show, and how to poll. interval, expires_in: seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    interval: float
    expires_in: float


def login_with_device_code(
    endpoints: Endpoints, login: Login, scope: str, *, show: Callable[[DeviceCode], None]
) -> tuple[str, Login]:
    """Show a code and poll until somebody approves it."""
    if not endpoints.device:
        raise UsageError("The server offers no login with a device code.", hint="cpctl login URL --browser")
    code = _request_code(endpoints.device, login.client_id, scope)
    show(code)
    interval, deadline = code.interval, time.monotonic() + code.expires_in
    while time.monotonic() < deadline:
        time.sleep(interval)
        try:
            return request_token(login, {"grant_type": _GRANT, "device_code": code.device_code})
        except OAuthFailed as error:
            if error.code == "slow_down":
                interval += 5
            elif error.code != "authorization_pending":
                raise
    raise OAuthFailed("expired_token", "Nobody approved the code in time.")


def _request_code(url: str, client_id: str, scope: str) -> DeviceCode:
    answer = post_form(url, {"client_id": client_id, "scope": scope})
    try:
        return DeviceCode(
            device_code=answer["device_code"],
            user_code=answer["user_code"],
            verification_uri=str(answer.get("verification_uri_complete") or answer["verification_uri"]),
            interval=float(answer.get("interval", 5)),
            expires_in=float(answer["expires_in"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OAuthFailed("invalid_response", "The answer has no device code.") from error
