"""OAuth endpoints of a server, and calls of them (RFC 6749, 8414)."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from cpctl.contexts import Login
from cpctl.errors import CpctlError, Unreachable, UsageError
from cpctl.exits import Exit

_METADATA = "/.well-known/oauth-authorization-server"
_SECONDS = 15.0


class OAuthFailed(CpctlError):
    """An error of an OAuth endpoint. code: such as `invalid_grant`."""

    exit = Exit.AUTH

    def __init__(self, code: str, description: str) -> None:
        super().__init__(
            f"The server refused the login: {description or code} ({code}).", hint="cpctl login URL"
        )
        self.code = code


@dataclass(frozen=True, slots=True)
class Endpoints:
    """URLs of an authorization server. Empty if the server does not offer one."""

    issuer: str
    authorization: str
    token: str
    device: str
    revocation: str


def discover(server: str) -> Endpoints:
    """Read the server's metadata (RFC 8414)."""
    document = _send(urllib.request.Request(_checked_url(server) + _METADATA))  # noqa: S310  # checked
    if not isinstance(document.get("token_endpoint"), str):
        raise UsageError(
            f"{server} offers no OAuth login. Log in with a token instead.",
            hint="cpctl login URL --token-file FILE",
        )
    return Endpoints(
        issuer=str(document.get("issuer", "")),
        authorization=str(document.get("authorization_endpoint", "")),
        token=_checked_url(document["token_endpoint"]),
        device=str(document.get("device_authorization_endpoint", "")),
        revocation=str(document.get("revocation_endpoint", "")),
    )


def post_form(url: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """POST a form and return the JSON answer. Raises OAuthFailed, Unreachable."""
    data = urlencode({name: value for name, value in parameters.items() if value}).encode()
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    return _send(urllib.request.Request(_checked_url(url), data, headers))  # noqa: S310  # checked


def request_token(login: Login, parameters: Mapping[str, str]) -> tuple[str, Login]:
    """Ask the token endpoint. Returns the access token, and the login with what renews it."""
    answer = post_form(login.token_endpoint, {"client_id": login.client_id, **parameters})
    token = answer.get("access_token")
    if not isinstance(token, str):
        raise OAuthFailed("invalid_response", "The answer has no access token.")
    expires_at = time.time() + float(answer.get("expires_in") or 0)
    refresh_token = str(answer.get("refresh_token") or login.refresh_token)
    return token, replace(login, refresh_token=refresh_token, expires_at=expires_at)


def _send(request: urllib.request.Request) -> dict[str, Any]:
    try:
        # No redirects: the form may have a secret.
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=_SECONDS) as response:
            return _object(response.read())
    except urllib.error.HTTPError as error:
        with error:
            answer = _object(error.read())
        code = str(answer.get("error") or answer.get("code") or error.code)
        description = str(answer.get("error_description") or answer.get("detail") or error.reason)
        raise OAuthFailed(code, description) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise Unreachable(f"Cannot reach {request.full_url}: {reason}.", hint="cpctl doctor") from error


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def _checked_url(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"{url!r} is not a server URL. Use one such as https://controlplane.example.com.")
    return url.rstrip("/")
