"""Redirect URIs: exact, but for the port of loopback addresses of native applications."""

import pytest

from controlplane.access.oauth.redirects import is_allowed, may_register

REGISTERED = (
    "https://app.example.com/callback",
    "http://localhost:53593/callback",
    "http://127.0.0.1/cb?x=1",
)
TRICKS = [
    "https://evil.example/callback",
    "//evil.example/callback",
    "https://app.example.com.evil.example/callback",
    "https://evil.app.example.com/callback",
    "https://app.example.com@evil.example/callback",
    "https://user:password@app.example.com/callback",
    "https://app.example.com:8443/callback",
    "https://app.example.com:443/callback",
    "http://app.example.com/callback",
    "https://APP.example.com/callback",
    "HTTPS://app.example.com/callback",
    "https://app.example.com/callback/",
    "https://app.example.com/Callback",
    "https://app.example.com/callback?x=1",
    "https://app.example.com/callback#fragment",
    "https://app.example.com/callback#",
    "https://app.example.com/./callback",
    "https://app.example.com/x/../callback",
    "https://app.example.com/%2e%2e/callback",
    "https://app.example.com\\@evil.example/callback",
    "https:\\\\app.example.com\\callback",
    "https://app.example.com/callback\r\nLocation: https://evil.example",
    "https://app.example.com/callback%0d%0aX:1",
    "https://app.example.com/call\tback",
    " https://app.example.com/callback",
    "https://app.example.com/callback ",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://app.example.com",
    "app.example.com/callback",
    "/callback",
    "",
    "https://localhost:53593/callback",
    "http://localhost.evil.example:53593/callback",
    "http://localhost:53593@evil.example/callback",
    "http://evil.example:53593/callback",
    "http://127.0.0.1:53593/callback",
    "http://[::1]:53593/callback",
    "http://LOCALHOST:53593/callback",
    "http://localhost:99999/callback",
    "http://localhost:0/callback",
    "http://localhost:/callback",
    "http://localhost:53593/callback/x",
    "http://localhost:53593/callback?x=1",
    "http://0.0.0.0:53593/callback",
    "http://127.1/cb?x=1",
    "http://127.0.0.1/cb",
    "https://app.examp\u0142e.com/callback",
    "https://app.example.com/callback\0",
]


@pytest.mark.parametrize("is_public", [True, False])
@pytest.mark.parametrize("uri", TRICKS)
def test_no_trick_leaves_the_registered_addresses(uri, is_public):
    assert not is_allowed(uri, REGISTERED, is_public=is_public)


@pytest.mark.parametrize("uri", REGISTERED)
def test_a_registered_address_is_allowed_exactly(uri):
    assert may_register(uri)
    assert is_allowed(uri, REGISTERED, is_public=False)


@pytest.mark.parametrize(
    "uri", ["http://localhost:1/callback", "http://localhost/callback", "http://127.0.0.1:8080/cb?x=1"]
)
def test_only_public_clients_may_use_any_loopback_port(uri):
    assert is_allowed(uri, REGISTERED, is_public=True)
    assert not is_allowed(uri, REGISTERED, is_public=False)


@pytest.mark.parametrize(
    "uri", ["http://app.example.com/", "https://*.example.com/", "myapp://callback", "https://", "x" * 3000]
)
def test_what_may_not_be_registered(uri):
    assert not may_register(uri)
