"""Login in the browser: authorization code with PKCE, received on a loopback port (RFC 7636, 8252)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from cpctl.contexts import Login
from cpctl.oauth.endpoints import Endpoints, OAuthFailed, request_token

_PATH = "/callback"
_PATIENCE_SECONDS = 300.0
_DONE = (
    b"<!doctype html><meta charset=utf-8><title>cpctl</title><p>You are logged in. You can close this page."
)
_FAILED = b"<!doctype html><meta charset=utf-8><title>cpctl</title><p>The login failed. See the terminal."


def login_in_browser(
    endpoints: Endpoints, login: Login, scope: str, *, show: Callable[[str], None]
) -> tuple[str, Login]:
    """Open the login page and wait for its answer. show: called with the URL to open."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    server = _CallbackServer()
    try:
        redirect_uri = f"http://127.0.0.1:{server.server_port}{_PATH}"
        query = {
            "response_type": "code",
            "client_id": login.client_id,
            "redirect_uri": redirect_uri,
            "scope": scope,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        show(f"{endpoints.authorization}?{urlencode(query)}")
        code = _code(server.wait_for_answer(_PATIENCE_SECONDS), state, endpoints.issuer)
    finally:
        server.server_close()
    exchange = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    return request_token(login, exchange)


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _code(answer: dict[str, str], state: str, issuer: str) -> str:
    """Return the code of the answer. Raises OAuthFailed if it is not the answer to this login."""
    if not secrets.compare_digest(answer.get("state", "").encode(), state.encode()):
        raise OAuthFailed("invalid_state", "The answer belongs to another login. Start the login again.")
    # RFC 9207: an answer of another server must not reach this one.
    if answer.get("iss", issuer) != issuer:
        raise OAuthFailed("invalid_issuer", "The answer comes from another server.")
    if "code" not in answer:
        raise OAuthFailed(answer.get("error", "no_code"), answer.get("error_description", ""))
    return answer["code"]


class _CallbackServer(HTTPServer):
    """Receives one answer of the login page, on loopback only."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _CallbackHandler)
        self.answer: dict[str, str] | None = None
        self.timeout = 1.0

    def wait_for_answer(self, seconds: float) -> dict[str, str]:
        deadline = time.monotonic() + seconds
        while self.answer is None:
            if time.monotonic() > deadline:
                raise OAuthFailed("timeout", f"Nobody logged in within {seconds / 60:.0f} minutes.")
            self.handle_request()
        return self.answer


class _CallbackHandler(BaseHTTPRequestHandler):
    server: _CallbackServer
    # A browser that connects and sends nothing must not block the answer.
    timeout = 5

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path != _PATH:
            self.send_error(404)
            return
        self.server.answer = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = _DONE if "code" in self.server.answer else _FAILED
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: the path has the code."""
