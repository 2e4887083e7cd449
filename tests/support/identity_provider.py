"""A real OpenID provider for tests: `oidc-provider` (npm) on a loopback port.

Use the fixture `identity_provider` (in tests/conftest.py): one server for the session, with the clients
`controlplane` (confidential), `flytectl`, `flyte-cli`, `cpctl` (public) and `flytepropeller`, `pipeline`
(client credentials). The secret of a confidential client is `<client>-secret-for-tests`.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from controlplane.local.programs import Program, free_port, start, stop_all, tail
from tests.support.paths import ROOT
from tests.support.waiting import is_reachable

HERE = ROOT / "tests" / "idp"
# Usually it answers after 2 s. Once in some hundred starts, node printed a first line and then hung for 90 s.
_SECONDS_TO_START = 40
_STARTS = 3
CLIENT = "controlplane"
CLIENT_SECRET = "controlplane-secret-for-tests"


def secret_of(client: str) -> str:
    return f"{client}-secret-for-tests"


class IdentityProvider:
    """A running provider. controlplane: URL of the server to which it sends browsers and logout tokens."""

    def __init__(self, folder: Path, *, controlplane: str = "http://testserver", audience: str = "") -> None:
        _install()
        self._environment = {
            "CONTROLPLANE_URL": controlplane,
            **({"IDP_AUDIENCE": audience} if audience else {}),
        }
        self._folder = folder
        failures = []
        while failure := self._start():
            failures.append(failure)
            assert len(failures) < _STARTS, "\n\n".join(failures)

    def _start(self) -> str:
        """Start the provider at a free port. Return why it does not answer, or an empty text."""
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.log = self._folder / f"identity-provider-{self.port}.log"
        environment = {**self._environment, "IDP_PORT": str(self.port)}
        command = ("node", str(HERE / "server.mjs"))
        self._program = start(Program("identity-provider", command, self.log, environment))
        deadline = time.monotonic() + _SECONDS_TO_START
        while self._program.alive() and time.monotonic() < deadline:
            if is_reachable(f"{self.issuer}/.well-known/openid-configuration"):
                return ""
            time.sleep(0.05)
        state = "hangs" if self._program.alive() else f"exited with {self._program.process.returncode}"
        self._program.kill()
        return f"The provider at {self.issuer} {state}. Its log:\n{tail(self.log, 30)}"

    def stop(self) -> None:
        stop_all([self._program], patience=5)

    def set_claims(self, account: str, **claims: Any) -> None:
        """Set the claims of an account. `userinfo_only` has those that only the userinfo endpoint returns."""
        self._control("PUT", f"accounts/{account}", claims)

    def send_logout_token(self, **body: str) -> str:
        """Have the provider send a logout token for `sub` or `sid`. Return "delivered" or its error."""
        return str(self._control("POST", "backchannel-logout", body)["result"])

    def capture_logout_token(self, **body: str) -> str:
        """Have the provider send a logout token to a listener here, and return the token."""
        received: Queue[str] = Queue()

        class Listener(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.send_response(200)
                self.end_headers()
                received.put(parse_qs(content)["logout_token"][0])

            def log_message(self, *arguments: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Listener) as server:
            thread = Thread(target=server.handle_request, daemon=True)
            thread.start()
            result = self.send_logout_token(uri=f"http://127.0.0.1:{server.server_port}/", **body)
            assert result == "delivered", result
            thread.join(60)
        return received.get(timeout=10)

    def requests(self) -> list[str]:
        """The requests so far, as "METHOD /path"."""
        rows: list[str] = httpx.get(f"{self.issuer}/test/requests").json()
        return rows

    def log_in(self, authorization_url: str, account: str, browser: httpx.Client | None = None) -> str:
        """Log in as a person at the provider's pages. Return the URL to which it redirects back.

        browser: keeps the provider's session between logins.
        """
        browser = browser or httpx.Client()
        response = browser.get(authorization_url)
        while response.is_redirect and self._is_here(response.headers["Location"]):
            response = browser.get(_absolute(self.issuer, response.headers["Location"]))
            if form := re.search(r'action="(/interaction/[\w-]+)"', response.text):
                response = browser.post(self.issuer + form[1], data={"account": account})
        assert response.is_redirect, f"{response.status_code}: {response.text[:1000]}"
        return str(response.headers["Location"])

    def _is_here(self, location: str) -> bool:
        return location.startswith(("/", self.issuer))

    def _control(self, method: str, path: str, body: dict[str, Any]) -> Any:
        response = httpx.request(method, f"{self.issuer}/test/{path}", json=body)
        response.raise_for_status()
        return response.json()


def _absolute(issuer: str, location: str) -> str:
    return issuer + location if location.startswith("/") else location


def _install() -> None:
    """Install what package-lock.json pins beside the server, once for all test processes."""
    if not (shutil.which("node") and shutil.which("npm")):
        if os.environ.get("CI"):
            pytest.fail("CI must have node and npm: without them nobody tests logins at a provider.")
        pytest.skip("there is no npm on this machine")
    lock, installed = HERE / "package-lock.json", HERE / "node_modules"
    with (HERE / "package.json").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
            return
        command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        finished = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        installed.touch()
