"""A real browser on the running system, logged in, with the demo."""

from __future__ import annotations

import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect, sync_playwright

from controlplane.access import principals, role_bindings
from controlplane.access.login.session_store import SessionStore
from controlplane.access.models import Principal, PrincipalKind
from controlplane.demo.seed import seed
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.conftest import System
from tests.support.api_client import ACTOR
from tests.support.chromium import MISSING, find_chromium
from tests.support.waiting import until

# Milliseconds. The default, 5 s, is too short on a busy machine.
expect.set_options(timeout=30_000)

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SIZES = {"wide": WIDE, "narrow": NARROW}
THEMES = ("light", "dark")
# The rules of axe whose outcome the colours decide.
RULES_OF_COLOUR = ("color-contrast", "link-in-text-block")
# One page of each kind: notices and charts, a table, a form, one object with its history, a list in pieces.
ALWAYS_IN_BOTH_WIDTHS = {"dashboard", "effective", "edit", "agent", "resources", "login-choice"}


def _chromium() -> str:
    program = find_chromium()
    if program:
        return program
    if os.environ.get("CI"):
        pytest.fail(MISSING)
    pytest.skip(MISSING)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Playwright keeps an event loop running in this thread as long as it lives."""
    path = _chromium()
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with sync_playwright() as playwright:
            # Containers give no sandbox to root, and little /dev/shm.
            flags = ["--no-sandbox", "--disable-dev-shm-usage"]
            browser = playwright.chromium.launch(executable_path=path, args=flags)
            yield browser
            browser.close()
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of this package, and for no other."""
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def every_way() -> bool:
    """Whether each page is looked at in both themes and widths: only in the nightly lane `every_page`."""
    return False


@pytest.fixture
def jane(chromium: Browser, live: System) -> Principal:
    """An administrator, and the demo."""
    seed()
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
    return person


@pytest.fixture
def page(chromium: Browser, live: System, jane: Principal) -> Iterator[Page]:
    """A page of Jane's browser; `goto("/agents")` works. A script error fails the test."""
    context = chromium.new_context(base_url=live.url, viewport=WIDE, reduced_motion="reduce")
    log_in(context, live, jane)
    browser_page = context.new_page()
    browser_page.set_default_timeout(30_000)
    broken: list[str] = []
    browser_page.on("pageerror", lambda error: broken.append(str(error)))
    browser_page.on(
        "console", lambda message: broken.append(message.text) if _refused_by_policy(message.text) else None
    )
    yield browser_page
    context.close()
    assert not broken


def _refused_by_policy(text: str) -> bool:
    return "Content Security Policy" in text


def log_in(context: BrowserContext, live: System, person: Principal) -> None:
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": session.session_key or "", "url": live.url}]
    )


Look = Callable[[str, str], None]
LookAround = Callable[[Page, str], None]


@pytest.fixture
def look_around(every_way: bool, tmp_path: Path) -> LookAround:
    """Look at the page that is open: nothing hinders people in either theme, and it fits in either width.

    By day, axe looks at one width, another one each day; and in dark, at what the colours decide. A theme
    changes nothing else. By night, it looks at everything, and takes a picture of each.
    """

    def look_in_dark(page: Page) -> list[str]:
        return hindrances(page) if every_way else hindrances(page, only=RULES_OF_COLOUR)

    def run(page: Page, name: str) -> None:
        for width, theme in itertools.product(SIZES if every_way else _widths_of(name), THEMES):
            _show(page, theme, width)
            found = hindrances(page) if theme == "light" else look_in_dark(page)
            assert found == [], f"{name} {theme} {width}"
            assert _fits(page), f"{name} {theme} {width}"
            if every_way:
                # From the top, or the header that stays would be in the middle.
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=tmp_path / f"{name}-{theme}-{width}.png", full_page=True)
        _show(page, "light", "narrow")
        assert _fits(page), f"{name} narrow"
        _show(page, "light", "wide")

    return run


def _admitted(page: Page, address: str) -> Response | None:
    """Go to the address; None if it has had too many requests."""
    response = page.goto(address)
    return None if response is None or response.status == 429 else response


@pytest.fixture
def look(page: Page, look_around: LookAround) -> Look:
    """Look around at an address."""

    def run(name: str, address: str) -> None:
        page.set_viewport_size(WIDE)
        # Other tests of this minute may have used up the login page's requests of this address.
        response = until(lambda: _admitted(page, address), 90, pause=2)
        assert response.ok, f"{response.status} {response.text()}"
        look_around(page, name)

    return run


def _widths_of(name: str) -> list[str]:
    if name in ALWAYS_IN_BOTH_WIDTHS:
        return list(SIZES)
    return [list(SIZES)[(zlib.crc32(name.encode()) + datetime.now(UTC).toordinal()) % len(SIZES)]]


def _show(page: Page, theme: str, width: str) -> None:
    # A page that has just begun to load has no element yet to set the theme of.
    page.wait_for_load_state()
    # As the switch does it, without its click: the narrow header has none.
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    page.set_viewport_size(SIZES[width])


def _fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def hindrances(page: Page, *, only: Sequence[str] = ()) -> list[str]:
    """What axe finds serious or critical. only: rules of axe; by default, all."""
    # Not before the document is there: an empty one would be found to have no title and no language.
    expect(page).to_have_title(re.compile("."))
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    # Experimental in axe, and a rule of WCAG: who speaks a label must reach what has it.
    rules = {} if only else {"label-content-name-mismatch": {"enabled": True}}
    which = {"runOnly": {"type": "rule", "values": list(only)}} if only else {}
    violations = page.evaluate(
        "options => axe.run(options).then(results => results.violations)",
        {"resultTypes": ["violations"], "rules": rules, **which},
    )
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in violations
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:3]
    ]
