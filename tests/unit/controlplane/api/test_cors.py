"""Which cross-origin requests are allowed, and what their answers say."""

from __future__ import annotations

import pytest

from controlplane.api.cors import Cors, CorsRules, parse_origins, rules_of
from tests.support.asgi_client import Worker

CONSOLE = "https://console.example.com"


async def application(scope, receive, send):
    """Answers as any part of ours may, with headers of its own."""
    await send({"type": "http.response.start", "status": 418, "headers": [(b"vary", b"Accept")]})
    await send({"type": "http.response.body", "body": scope["method"].encode()})


@pytest.fixture
def ask():
    workers = []

    def make(*origins: str, headers: tuple[str, ...] = ()):
        worker = Worker(lambda: Cors(application, rules_of(origins, headers)))
        workers.append(worker)

        def call(method: str, path: str = "/api/v1/projects", **headers: str):
            return worker.start(method, path, **headers).result(15)

        return call

    yield make
    for worker in workers:
        worker.stop()


def test_without_the_setting_nothing_is_added_and_options_pass(ask):
    answer = ask()("OPTIONS", Origin=CONSOLE, Access_Control_Request_Method="GET")

    assert (answer.status, answer.body, answer.headers) == (418, b"OPTIONS", [(b"vary", b"Accept")])


def test_a_preflight_of_an_allowed_origin_is_200_without_the_application(ask):
    answer = ask(CONSOLE)(
        "OPTIONS",
        Origin=CONSOLE,
        Access_Control_Request_Method="PUT",
        Access_Control_Request_Headers="Content-Type, flyte-authorization,if-match",
    )

    assert (answer.status, answer.body) == (200, b"")
    assert answer["Access-Control-Allow-Origin"] == CONSOLE
    assert answer["Access-Control-Allow-Credentials"] == "true"
    assert answer["Access-Control-Allow-Methods"] == "PUT"
    assert answer["Access-Control-Allow-Headers"] == "content-type, flyte-authorization, if-match"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Access_Control_Request_Method": "TRACE"}, 405),
        ({"Access_Control_Request_Method": "PUT", "Access_Control_Request_Headers": "x-odd"}, 403),
        ({}, 400),
    ],
)
def test_preflights_are_refused_as_upstream_refuses_them(ask, headers, status):
    answer = ask(CONSOLE)("OPTIONS", Origin=CONSOLE, **headers)

    assert (answer.status, answer.body) == (status, b"")
    assert b"access-control-allow-origin" not in dict(answer.headers)


def test_a_header_that_the_operator_names_may_be_sent(ask):
    headers = {"Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": "x-odd"}

    assert ask(CONSOLE, headers=("X-Odd",))("OPTIONS", Origin=CONSOLE, **headers).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example.com", "null", "", CONSOLE.upper(), CONSOLE + ":8443"]
)
def test_other_origins_get_the_answer_without_the_headers(ask, origin):
    headers = {"Origin": origin} if origin else {}
    call = ask(CONSOLE)

    for answer in (call("GET", **headers), call("OPTIONS", Access_Control_Request_Method="GET", **headers)):
        assert b"access-control-allow-origin" not in dict(answer.headers)
    assert call("GET", **headers).status == 418
    assert call("OPTIONS", **headers).status == 200


def test_every_answer_to_an_allowed_origin_says_so_and_that_it_varies(ask):
    answer = ask(CONSOLE)("GET", Origin=CONSOLE)

    assert answer["Access-Control-Allow-Origin"] == CONSOLE
    assert "ETag" in answer["Access-Control-Expose-Headers"]
    assert (b"vary", b"Accept") in answer.headers
    assert (b"vary", b"Origin") in answer.headers


def test_a_star_allows_everybody_without_credentials(ask):
    answer = ask("*")("GET", Origin="https://anything.example")

    assert answer["Access-Control-Allow-Origin"] == "*"
    assert b"access-control-allow-credentials" not in dict(answer.headers)


def test_pages_and_health_checks_of_our_own_are_left_alone(ask):
    call = ask("*")

    assert b"access-control-allow-origin" not in dict(call("GET", "/overrides", Origin=CONSOLE).headers)
    assert call("GET", "/healthcheck", Origin=CONSOLE)["Access-Control-Allow-Origin"] == "*"


def test_origins_are_read_from_the_setting():
    assert parse_origins(" https://a.example , http://b:8080,") == {"https://a.example", "http://b:8080"}
    assert parse_origins("*") == {"*"}
    assert not CorsRules(frozenset()).allows(CONSOLE)
    for wrong in ("a.example", "https://a.example/", "https://a.example/x", "ftp://a"):
        with pytest.raises(ValueError, match="is neither an origin"):
            parse_origins(wrong)
