"""A real Keycloak for slow tests, from Maven Central, with the realm in tests/nightly/keycloak.

`KEYCLOAK_URL` names one that runs already with that realm, such as http://127.0.0.1:8080.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from threading import Thread
from urllib.parse import urljoin

import httpx
import pytest

from controlplane.local.programs import Program, free_port, start, stop_all, tail
from tests.support.paths import ROOT
from tests.support.waiting import is_reachable, until

VERSION = "26.4.5"
PASSWORD = "correct horse battery staple"
_REALM = ROOT / "tests" / "nightly" / "keycloak" / "flyte-realm.json"
_FOLDER = ROOT / ".tools" / f"keycloak-{VERSION}"
_ARTIFACT = f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
_FORM = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
# It compiles itself at the first start.
_SECONDS_TO_START = 900


@contextmanager
def running_keycloak(folder: Path) -> Iterator[str]:
    """Give the address of the realm."""
    if url := os.environ.get("KEYCLOAK_URL"):
        yield f"{url}/realms/flyte"
        return
    _install()
    (_FOLDER / "data" / "import").mkdir(parents=True, exist_ok=True)
    shutil.copy(_REALM, _FOLDER / "data" / "import")
    port = free_port()
    command = (
        *(str(_FOLDER / "bin" / "kc.sh"), "start-dev", "--import-realm"),
        *("--http-host=127.0.0.1", f"--http-port={port}"),
    )
    log = folder / "keycloak.log"
    program = start(Program("keycloak", command, log, {**os.environ, "JAVA_OPTS": "-Xmx512m"}))
    realm = f"http://127.0.0.1:{port}/realms/flyte"
    try:
        metadata = f"{realm}/.well-known/openid-configuration"
        until(lambda: is_reachable(metadata), _SECONDS_TO_START, lambda: tail(log, 30))
        yield realm
    finally:
        stop_all([program], patience=10)


def _install() -> None:
    if _FOLDER.exists():
        return
    if not (shutil.which("mvn") and shutil.which("java")):
        pytest.skip("there is no Maven or Java on this machine; KEYCLOAK_URL can name a Keycloak")
    target = _FOLDER.parent
    copy = ["mvn", "-q", "dependency:copy", f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={target}"]
    subprocess.run(copy, check=True, cwd=ROOT.parent)
    shutil.unpack_archive(target / f"keycloak-quarkus-dist-{VERSION}.zip", target)
    (_FOLDER / "bin" / "kc.sh").chmod(0o755)


class KeycloakBrowser:
    """A person at Keycloak’s pages."""

    def __init__(self, realm: str, name: str) -> None:
        self._origin, self._name = realm.partition("/realms/")[0], name
        self._browser = httpx.Client(timeout=60, event_hooks={"response": [self._trust_this_machine]})

    def open_new_tab(self, address: str) -> bool:
        """Stand in for `webbrowser.open_new_tab`: the program goes on while the person logs in."""
        callback = self.visit(address)
        Thread(target=httpx.get, args=(callback,), daemon=True).start()
        return True

    def visit(self, address: str) -> str:
        """Log in and approve what is asked. Return the address outside of Keycloak, or the last page."""
        response = self._browser.get(address)
        for _ in range(12):
            if response.has_redirect_location:
                address = urljoin(str(response.url), response.headers["Location"])
                if not address.startswith(self._origin):
                    return address
                response = self._browser.get(address)
            elif form := _FORM.search(response.text):
                response = self._submit(urljoin(str(response.url), unescape(form[1])), form[2])
            else:
                return str(response.url)
        raise AssertionError(f"Keycloak asks again and again: {response.text[:2000]}")

    def _trust_this_machine(self, response: httpx.Response) -> None:
        """Send secure cookies over plain HTTP too, as browsers do on loopback."""
        for cookie in self._browser.cookies.jar:
            cookie.secure = False

    def _submit(self, action: str, form: str) -> httpx.Response:
        hidden = re.findall(r'name="([^"]+)"[^>]*value="([^"]*)"', form)
        fields = {name: unescape(value) for name, value in hidden}
        fields.pop("cancel", None)
        if 'name="password"' in form:
            fields |= {"username": self._name, "password": PASSWORD}
        return self._browser.post(action, data=fields)
