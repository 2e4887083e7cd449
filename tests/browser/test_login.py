"""A person logs in at a real provider in a real browser, sees their team, and logs out on both sides."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from controlplane.access.models import Principal, Session
from controlplane.access.teams.teams import create_team
from controlplane.local.programs import Program, free_port, start, stop_all, tail
from tests.browser.conftest import NARROW, WIDE, LookAround
from tests.conftest import System, as_application
from tests.support.api_client import ACTOR
from tests.support.identity_provider import CLIENT, IdentityProvider, secret_of
from tests.support.waiting import is_reachable, until

Picture = Callable[[Page, str], None]
EVENTS = {"Accept": "text/event-stream"}
RULES = [
    {"value": "cp-ml", "team": "ml", "role": "viewer"},
    {"value": "cp-bosses", "role": "admin"},
]


class Console:
    """A web server of its own, on the database of the running system, with an identity provider."""

    def __init__(self, url: str, provider: IdentityProvider) -> None:
        self.url, self.provider = url, provider


def providers_document(provider: IdentityProvider) -> str:
    entry = {
        "slug": "work",
        "title": "Work account",
        "issuer": provider.issuer,
        "client_id": CLIENT,
        "client_secret": secret_of(CLIENT),
        "scopes": ["openid", "profile", "email", "groups"],
        "rules": RULES,
    }
    return json.dumps({"providers": [entry]})


@pytest.fixture(scope="module")
def console(system: System, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder, port = tmp_path_factory.mktemp("login"), free_port()
    url = f"http://127.0.0.1:{port}"
    provider = IdentityProvider(folder, controlplane=url)
    environment = {
        **system.environment,
        "PUBLIC_URL": url,
        "IDENTITY_PROVIDERS": providers_document(provider),
        "ACCESS_CONTACT": "platform@example.com",
    }
    command = (sys.executable, "-m", "controlplane.serving", "--port", str(port))
    web = start(
        Program(
            "web-login",
            command,
            folder / "web.log",
            as_application(environment, "web"),
        )
    )
    try:
        until(lambda: is_reachable(f"{url}/readyz"), 60, lambda: tail(folder / "web.log", 30))
        yield Console(url, provider)
    finally:
        stop_all([web], patience=5)
        provider.stop()


@pytest.fixture
def visitor(chromium: Browser, live: System, console: Console) -> Iterator[Page]:
    """A browser in which nobody is logged in. A refused script or style fails the test."""
    create_team("ml", actor=ACTOR)
    context = chromium.new_context(base_url=console.url, viewport=WIDE, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(30_000)
    broken: list[str] = []
    page.on(
        "console", lambda message: broken.append(message.text) if "Security Policy" in message.text else None
    )
    yield page
    context.close()
    assert not broken


@pytest.fixture
def picture(look_around: LookAround) -> Picture:
    """Look around at the open page, and take a picture of it in both themes if one is wanted."""
    folder = os.environ.get("SCREENSHOTS", "")

    def run(page: Page, name: str) -> None:
        look_around(page, name)
        for theme, size in (("dark", NARROW), ("light", WIDE)) if folder else ():
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            page.set_viewport_size(size)
            page.screenshot(path=Path(folder) / f"{name}-{theme}.png")

    return run


def log_in(page: Page, account: str, path: str = "/agents") -> None:
    page.goto(path)
    page.get_by_role("link", name="Log in with Work account").click()
    page.get_by_label("Account").fill(account)
    page.get_by_role("button", name="Continue").click()


def test_a_person_logs_in_lands_where_they_wanted_and_logs_out_on_both_sides(
    visitor: Page, console: Console, picture: Picture
) -> None:
    console.provider.set_claims("ada", groups=["cp-ml"], name="Ada Lovelace")
    visitor.goto("/agents?q=production")
    expect(visitor.get_by_role("heading", name="Log in")).to_be_visible()
    picture(visitor, "login-choice")

    visitor.get_by_role("link", name="Log in with Work account").click()
    visitor.get_by_label("Account").fill("ada")
    visitor.get_by_role("button", name="Continue").click()

    visitor.wait_for_url(f"{console.url}/agents?q=production")
    ada = Principal.objects.get(name="ada")
    assert [row.team.slug for row in ada.memberships.select_related("team")] == ["ml"]
    visitor.get_by_role("link", name="ada", exact=True).click()
    expect(visitor.get_by_text("ml", exact=True)).to_be_visible()
    picture(visitor, "account")

    visitor.get_by_role("button", name="Log out").click()
    visitor.get_by_role("button", name="Yes, log out").click()

    expect(visitor.get_by_role("heading", name="Logged out")).to_be_visible()
    assert visitor.url.startswith(f"{console.url}/logout")
    assert not Session.objects.filter(principal=ada).exists()
    log_in_form = visitor.get_by_label("Account")
    visitor.get_by_role("link", name="Log in").click()
    visitor.get_by_role("link", name="Log in with Work account").click()
    expect(log_in_form).to_be_visible()


def test_a_logout_at_the_provider_ends_the_console_session(visitor: Page, console: Console) -> None:
    console.provider.set_claims("grace", groups=["cp-ml"])
    log_in(visitor, "grace")
    visitor.wait_for_url(f"{console.url}/agents")

    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.context.cookies(console.url)}
    stream = httpx.stream("GET", f"{console.url}/api/v1/events", cookies=cookies, headers=EVENTS, timeout=12)
    with stream as events:
        assert events.status_code == 200
        visitor.goto(f"{console.provider.issuer}/session/end")
        visitor.get_by_role("button", name="Yes, log out").click()
        # It raises if nothing arrives for twelve seconds; the stream itself sends only every fifteen.
        assert "".join(events.iter_text()).startswith("id: ")

    until(lambda: not Session.objects.filter(principal__name="grace").exists())
    visitor.goto(f"{console.url}/agents")
    visitor.wait_for_url(re.compile("/login"))


def test_a_person_without_a_role_sees_whom_to_ask(visitor: Page, console: Console, picture: Picture) -> None:
    log_in(visitor, "newcomer")

    expect(visitor.get_by_text("You are logged in as newcomer and have no role yet.")).to_be_visible()
    expect(visitor.get_by_text("platform@example.com")).to_be_visible()
    picture(visitor, "no-role")


def test_an_administrator_tests_the_rules_of_a_provider(
    visitor: Page, console: Console, picture: Picture
) -> None:
    console.provider.set_claims("boss", groups=["cp-bosses"])
    log_in(visitor, "boss", "/identity-providers")

    visitor.get_by_role("link", name="work").click()
    visitor.get_by_label("ID token, or claims as JSON").fill('{"groups": ["cp-ml"]}')
    visitor.get_by_role("button", name="Test rules").click()

    expect(visitor.get_by_text("Rule 1 matches cp-ml")).to_be_visible()
    picture(visitor, "identity-provider")


def test_pages_of_failed_logins_hinder_nobody(visitor: Page, console: Console, picture: Picture) -> None:
    log_in(visitor, "denied")

    expect(visitor.get_by_role("alert")).to_contain_text("Work account did not log you in")
    picture(visitor, "login-failed")
    visitor.goto(f"{console.url}/login/local")
    expect(visitor.get_by_text("Only administrators can log in with a password.")).to_be_visible()
