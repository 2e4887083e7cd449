"""Reads with a token skip the middlewares of browsers, and are answered as if they did not."""

from __future__ import annotations

import pytest
from django.test import Client, override_settings
from django.urls import Resolver404, get_resolver

from controlplane.access.models import Session
from controlplane.web import browser_middlewares
from tests.support.api_client import token_for

pytestmark = pytest.mark.django_db
INDIVIDUAL = {"X-Request-ID", "RateLimit"}
PATHS = {
    "/api/v1/me": 200,
    "/api/v1/agents?limit=2": 200,
    "/api/v1/audit": 403,
    "/api/v1/agents?limt=2": 400,
    "/api/v1/agents/0190d5a7-0000-7000-8000-000000000001": 404,
    "/api/v1/nothing": 404,
    "/api/v1/me/": 308,
    "/api/v1/docs": 200,
}


@pytest.fixture
def token():
    return token_for("viewer")


def answer(method, path, token, **headers):
    client = Client(raise_request_exception=False)
    headers = {"Authorization": f"Bearer {token}", **headers}
    response = client.generic(method, path, headers=headers)
    kept = {name: value for name, value in response.headers.items() if name not in INDIVIDUAL}
    body = response.content.replace(response["X-Request-ID"].encode(), b"")
    return response.status_code, kept, body, dict(response.cookies)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_both_ways_answer_alike(token, method, path):
    quick = answer(method, path, token)
    browser = answer(method, path, token, Cookie="other=1")

    assert quick == browser
    assert quick[0] == PATHS[path]


@pytest.mark.parametrize(
    ("method", "path", "headers", "skips"),
    [
        ("GET", "/api/v1/me", {}, True),
        ("HEAD", "/api/v1/me", {}, True),
        ("GET", "/api/v1/me", {"Cookie": "cp-session=1"}, False),
        ("POST", "/api/v1/me:can-i", {}, False),
        ("GET", "/login", {}, False),
    ],
)
def test_only_reads_with_a_token_and_without_cookies_skip(token, monkeypatch, method, path, headers, skips):
    seen = []
    decide = browser_middlewares.is_read_with_token

    def spy(request):
        seen.append(decide(request))
        return seen[-1]

    monkeypatch.setattr(browser_middlewares, "is_read_with_token", spy)
    answer(method, path, token, **headers)

    assert seen == [skips]


def test_a_page_that_asks_with_neither_is_still_a_browsers():
    with override_settings(ANONYMOUS_READ=False):
        assert Client().get("/api/v1/me").status_code == 401
    assert Session.objects.count() == 0


def test_forms_are_still_checked_for_forgery():
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)

    response = client.post("/login/local", {"name": "ada", "password": "secret"})

    assert response.status_code == 403
    assert "CSRF" in response.json()["detail"]


def test_routes_are_those_of_the_patterns_and_unknown_ones_stay_unknown():
    resolver = get_resolver()
    for _ in range(2):
        match = resolver.resolve("/api/v1/agents/0190d5a7-0000-7000-8000-000000000001")
        assert match.kwargs
        assert match.route.startswith("api/v1/agents/<")
        with pytest.raises(Resolver404):
            resolver.resolve("/api/v1/nothing/at/all")
    first = resolver.resolve("/api/v1/agents/0190d5a7-0000-7000-8000-000000000002").kwargs
    assert first != match.kwargs


def test_a_page_with_a_policy_of_its_own_keeps_it(token):
    _, plain, *_ = answer("GET", "/api/v1/me", token)
    _, docs, *_ = answer("GET", "/api/v1/docs", token)

    assert "worker-src blob:" in docs["Content-Security-Policy"]
    assert "worker-src" not in plain["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in plain["Content-Security-Policy"]
