"""What all flows share: the running system, browsers, API calls, and the memory of secrets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import httpx

from controlplane.access import principals
from controlplane.access.models import PrincipalKind
from controlplane.access.role_bindings import bind_role
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.conftest import System
from tests.support.api_client import ACTOR
from tests.support.identity_provider import IdentityProvider
from tests.support.paths import ROOT
from tests.support.secret_memory import TOKEN, SecretMemory

ADMIN = "root-of-story"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Story:
    """One run. name, password: of the administrator, who exists from the beginning."""

    system: System
    provider: IdentityProvider
    memory: SecretMemory
    name: str
    password: str
    browser: httpx.Client = field(init=False)
    token: str = field(init=False)

    def __post_init__(self) -> None:
        person = principals.create_principal(
            self.name, kind=PrincipalKind.PERSON, actor=ACTOR, password=self.password
        )
        bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
        _, self.token = principals.create_token(person, name="story", expires_at=None, actor=ACTOR)
        self.memory.remember("the administrator's password", self.password)
        self.memory.remember("the administrator's token", self.token)
        self.browser = self.new_browser()

    def new_browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.system.url, timeout=30, headers={"User-Agent": "Story/1.0 Firefox"})

    def log_in(self, browser: httpx.Client, name: str, password: str) -> httpx.Response:
        """Log in with a password, and remember the cookies."""
        response = self.submit(browser, "/login/local", {"username": name, "password": password})
        self.remember_cookies(browser)
        return response

    def submit(self, browser: httpx.Client, path: str, form: dict[str, str]) -> httpx.Response:
        """Open a page and submit its form."""
        page = browser.get(path, follow_redirects=True)
        token = _CSRF.search(page.text)
        assert token, f"{path}: {page.status_code} {page.text[:500]}"
        self.memory.remember(f"the CSRF token of {path}", token[1])
        return browser.post(path, data={**form, "csrfmiddlewaretoken": token[1]})

    def remember_cookies(self, browser: httpx.Client) -> None:
        for cookie in browser.cookies.jar:
            if cookie.value and cookie.name in ("cp-session", "cp-csrf", "cp-browser", "cp-login"):
                self.memory.remember(f"the cookie {cookie.name}", cookie.value)

    def api(self, method: str, path: str, body: Any = None, *, token: str = "", expect: int = 200) -> Any:
        """Call the API, and remember every token in the response."""
        path = path if path.startswith("/") else f"/api/v1/{path}"
        headers = {"Authorization": f"Bearer {token or self.token}"}
        response = httpx.request(method, self.system.url + path, json=body, headers=headers, timeout=30)
        assert response.status_code == expect, f"{method} {path}: {response.status_code} {response.text}"
        self.remember_tokens(path, response.text)
        return response.json() if response.content else None

    def remember_tokens(self, flow: str, text: str) -> None:
        for token in TOKEN.findall(text):
            self.memory.remember(flow, token)

    def command(self, *arguments: str) -> str:
        """Run a command of manage.py; its standard error is a log."""
        with (self.system.folder / f"{arguments[0]}.log").open("ab") as log:
            finished = subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), *arguments],
                env={**os.environ, **self.system.environment},
                stdout=subprocess.PIPE,
                stderr=log,
                check=True,
                text=True,
            )
        self.remember_tokens(arguments[0], finished.stdout)
        return finished.stdout
