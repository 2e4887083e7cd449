"""Log in with OAuth, one way or another."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cpctl.contexts import Context, Login
from cpctl.oauth.browser import login_in_browser
from cpctl.oauth.device import DeviceCode, login_with_device_code
from cpctl.oauth.endpoints import discover, request_token
from cpctl.oauth.renewal import client_parameters


@dataclass(frozen=True, slots=True)
class Way:
    """How to log in: as a client with secret_file, with a device code, or else in the browser."""

    client_id: str
    scope: str
    secret_file: str = ""
    is_device: bool = False


def log_in(context: Context, way: Way, *, tell: Callable[[str], None]) -> Context:
    """Return the context with a token and what renews it. tell: shows a line to the user."""
    endpoints = discover(context.server)
    login = Login(way.client_id, endpoints.token, endpoints.revocation, scope=way.scope)
    if way.secret_file:
        scope = " ".join(name for name in way.scope.split() if not name.startswith("offline"))
        login = replace(login, secret_file=str(Path(way.secret_file).resolve()), scope=scope)
        token, login = request_token(login, client_parameters(way.secret_file, scope))
    elif way.is_device:
        token, login = login_with_device_code(
            endpoints, login, way.scope, show=lambda code: tell(_instruction(code))
        )
    else:
        token, login = login_in_browser(endpoints, login, way.scope, show=lambda url: _open(url, tell))
    return replace(context, token=token, login=login)


def _instruction(code: DeviceCode) -> str:
    return f"Open {code.verification_uri} and check that it shows the code {code.user_code}."


def _open(url: str, tell: Callable[[str], None]) -> None:
    tell(f"Log in in your browser. If it does not open, open this URL:\n{url}")
    webbrowser.open(url)
