"""cpctl logs in by browser, device code and as a client; a played person approves in a browser."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from controlplane.access.models import Token
from tests.support.cpctl_runner import Cpctl
from tests.support.oauth_flows import person_with_browser, service_client

URL = re.compile(r"https?://\S+")


@pytest.fixture
def cpctl(live: Any, tmp_path: Path) -> Cpctl:
    return Cpctl(tmp_path, environment={"BROWSER": "true"})


def wait_for_url(process: subprocess.Popen[str]) -> str:
    """Read what a login shows until it names a URL."""
    assert process.stderr is not None
    for line in process.stderr:
        if match := URL.search(line):
            return match.group().rstrip(".")
    raise AssertionError(f"no URL, exit code {process.wait(60)}")


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def config_of(cpctl: Cpctl) -> Any:
    return json.loads((cpctl.folder / "config" / "config.json").read_text())["contexts"]["default"]


def log_in_by_device(cpctl: Cpctl, server: str, browser: Any) -> None:
    login = cpctl.start("login", server, "--device")
    url = wait_for_url(login)
    page = browser.get(path_of(url))
    user_code = re.search(r'name="user_code" value="([^"]+)"', page.content.decode())
    assert user_code is not None, page.content.decode()
    approval = browser.post("/device", {"user_code": user_code[1], "decision": "approve"})
    assert approval.status_code in (200, 302), approval.content
    assert login.wait(60) == 0, login.stderr and login.stderr.read()


def test_a_person_logs_in_with_a_code_renews_the_token_and_logs_out(cpctl, live):
    person, browser = person_with_browser("viewer", name="ada")
    log_in_by_device(cpctl, live.url, browser)
    assert "ada (person)" in cpctl("whoami").out

    first = config_of(cpctl)
    path = cpctl.folder / "config" / "config.json"
    assert path.stat().st_mode & 0o077 == 0
    document = json.loads(path.read_text())
    document["contexts"]["default"]["login"]["expires_at"] = 0
    path.write_text(json.dumps(document))
    assert "ada (person)" in cpctl("whoami").out
    renewed = config_of(cpctl)
    assert renewed["token"] != first["token"]
    assert cpctl("token").out.strip() == renewed["token"]

    assert cpctl("logout").code == 0
    assert "token" not in config_of(cpctl) or not config_of(cpctl)["token"]
    assert not Token.objects.filter(principal=person, revoked_at=None).exists()
    assert Cpctl(cpctl.folder, live.url, renewed["token"])("whoami").code == 4


def test_a_person_logs_in_in_the_browser(cpctl, live):
    _, browser = person_with_browser("viewer", name="ada")
    login = cpctl.start("login", live.url, "--browser")
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    page = urllib.request.Request(wait_for_url(login), headers={"Cookie": cookies})  # the server
    with urllib.request.urlopen(page, timeout=10) as answer:  # follows to our own port
        assert b"You are logged in" in answer.read()
    assert login.wait(60) == 0, login.stderr and login.stderr.read()
    assert "ada (person)" in cpctl("whoami").out


def test_an_answer_to_another_login_is_refused(cpctl, live):
    login = cpctl.start("login", live.url, "--browser")
    redirect = re.search(r"redirect_uri=([^&]+)", wait_for_url(login))
    assert redirect is not None
    callback = unquote(redirect[1])
    with urllib.request.urlopen(f"{callback}?code=x&state=wrong", timeout=10):  # our own loopback port
        assert login.wait(60) == 4
    assert not (cpctl.folder / "config" / "config.json").exists()


def test_a_client_logs_in_by_its_secret_and_again_when_its_token_ends(cpctl, live, tmp_path):
    client, secret = service_client("viewer")
    (tmp_path / "secret").write_text(secret)
    ran = cpctl("login", live.url, "--client-id", client.client_id, "--secret-file", "secret")
    assert ran.code == 0, ran.err
    assert secret not in (cpctl.folder / "config" / "config.json").read_text()
    first = config_of(cpctl)
    path = cpctl.folder / "config" / "config.json"
    document = json.loads(path.read_text())
    document["contexts"]["default"]["login"]["expires_at"] = 0
    path.write_text(json.dumps(document))
    assert cpctl("whoami").code == 0
    assert config_of(cpctl)["token"] != first["token"]


def test_a_wrong_secret_says_what_to_do(cpctl, live, tmp_path):
    client, _ = service_client("viewer")
    (tmp_path / "secret").write_text("wrong")
    ran = cpctl("login", live.url, "--client-id", client.client_id, "--secret-file", "secret")
    assert ran.code == 4
    assert "invalid_client" in ran.err
