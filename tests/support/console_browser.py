"""A person at a browser, without the browser: logs in to the console by password and follows redirects."""

from __future__ import annotations

import re
from html import unescape
from threading import Thread
from typing import Any
from urllib.parse import urljoin

import httpx

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.actors import system
from controlplane.identity.roles import Role
from controlplane.scopes import Scope

PASSWORD = "correct horse battery staple"
_ACTOR = system("tests")
_FORM = re.compile(r'<form class="login".*?</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


class ConsoleBrowser:
    """A person with roles at the server's console. logins: how often the password was entered."""

    def __init__(self, url: str, name: str, *roles: str) -> None:
        self.url, self.name, self.logins = url, name, 0
        self.addresses: list[str] = []
        self._browser = httpx.Client(timeout=30)
        person = principals.create_principal(name, kind=PrincipalKind.PERSON, password=PASSWORD, actor=_ACTOR)
        for role in roles:
            role_bindings.bind_role(person, Role(role), Scope(), actor=_ACTOR)

    def visit(self, address: str) -> httpx.Response:
        """Open an address, log in if asked, and return the last page."""
        for _ in range(12):
            self.addresses.append(address)
            response = self._browser.get(address)
            if form := _FORM.search(response.text):
                self.logins += 1
                response = self._submit(address, form[0], username=self.name, password=PASSWORD)
            if not response.has_redirect_location:
                return response
            address = urljoin(address, response.headers["Location"])
        raise AssertionError(f"too many redirects: {self.addresses}")

    def open_new_tab(self, address: str) -> bool:
        """Stand in for `webbrowser.open_new_tab`: the program goes on while the person logs in."""
        Thread(target=self.visit, args=(address,), daemon=True).start()
        return True

    def approve_device(self, address: str, *, decision: str = "approve") -> httpx.Response:
        """Open the address that a device shows, and approve it."""
        page = self.visit(address)
        forms = re.findall(r"<form.*?</form>", page.text, re.DOTALL)
        form = next(form for form in forms if 'name="decision"' in form)
        return self._submit(str(page.url), form, decision=decision)

    def _submit(self, address: str, form: str, **fields: Any) -> httpx.Response:
        hidden = {name: unescape(value) for name, value in _HIDDEN.findall(form)}
        action = re.search(r'action="([^"]*)"', form)
        target = urljoin(address, unescape(action[1])) if action else address
        headers = {"Referer": address, "Origin": self.url}
        return self._browser.post(target, data={**hidden, **fields}, headers=headers)
