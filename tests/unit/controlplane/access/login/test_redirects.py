"""A login or logout leads to a path of this server or to an allowed origin, and nowhere else."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.access.login.redirects import check_redirect, origin_of, parse_origins
from controlplane.errors import RedirectNotAllowed

ORIGINS = frozenset({"https://console.example.com", "http://localhost:5173"})
SERVER = "https://cp.example.com"

ALLOWED = [
    "/",
    "/agents?q=1&next=//evil.example",
    "/overrides#task",
    "/a//b",
    "/%2f%2fevil.example",
    "https://console.example.com",
    "https://console.example.com/flyte?x=1#y",
    "https://console.example.com:443/",
    "HTTPS://CONSOLE.example.com/",
    "http://localhost:5173/console",
]
TRICKS = [
    "",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    " //evil.example",
    "\x00//evil.example",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https://evil.example",
    "https://console.example.com@evil.example",
    "https://console.example.com:pw@evil.example/",
    "https://evil.example#@console.example.com",
    "https://evil.example?.console.example.com",
    "https://evil.example\\@console.example.com",
    "https://evil.example\\.console.example.com",
    "https://console.example.com.evil.example",
    "https://evil-console.example.com",
    "https://sub.console.example.com",
    "https://console.example.com.",
    "https://console.example.com:8443",
    "https://console.example.com:443@evil.example",
    "http://console.example.com",
    "http://localhost.evil.example:5173",
    "http://localhost:5174",
    "http://localhost",
    "http://127.0.0.1:5173",
    "HTTP://EVIL.EXAMPLE",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://console.example.com",
    "https://console.example.com\r\nSet-Cookie: a=b",
    "/agents\r\nLocation: https://evil.example",
    "https://[::1]/",
    "https://[evil",
    "https://console.example.com:99999",
    "https://ｃonsole.example.com",
    "https://console.example.com%2eevil.example",
    "agents",
    "./agents",
    "?next=//evil",
    "/" + "a" * 3000,
]


@pytest.mark.parametrize("url", ALLOWED)
def test_paths_and_allowed_origins_are_accepted(url):
    assert check_redirect(url, ORIGINS) == url


@pytest.mark.parametrize("url", TRICKS)
def test_no_trick_leaves(url):
    with pytest.raises(RedirectNotAllowed):
        check_redirect(url, ORIGINS)


@given(st.text(alphabet="/\\:@.#?%\t\n ahttpsevilconsole.examplecom[]", max_size=60))
def test_what_is_accepted_leads_to_an_allowed_origin(url):
    try:
        check_redirect(url, ORIGINS)
    except RedirectNotAllowed:
        return

    # As browsers read it: without tabs and line breaks, and with `\` as `/`.
    read = url.strip().translate({9: None, 10: None, 13: None, 92: "/"})
    assert origin_of(urljoin(SERVER, read)) in ORIGINS | {SERVER}
    assert "@" not in urlsplit(urljoin(SERVER, read)).netloc


@pytest.mark.parametrize("raw", ["https://a.example/path", "https://a.example?x", "a.example", "https://"])
def test_a_setting_that_is_no_origin_is_refused(raw):
    with pytest.raises(ValueError, match=r"must have only|is not an origin"):
        parse_origins(raw)


def test_origins_are_compared_without_their_default_port():
    assert parse_origins("https://A.example:443, http://b.example:8080/") == {
        "https://a.example",
        "http://b.example:8080",
    }
