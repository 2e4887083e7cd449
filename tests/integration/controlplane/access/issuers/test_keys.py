"""Where an issuer's keys come from, how long they are used, and what happens when they cannot be read."""

from __future__ import annotations

import socket
import threading

import pytest

from controlplane.access.issuers.discovery import IssuerAddress, discover
from controlplane.access.issuers.documents import DocumentCache, read_json
from controlplane.access.issuers.jwks import KeySource, find_keys, verify_with
from controlplane.access.issuers.verify import Expectations, JwtRefused, read_token
from controlplane.errors import IssuerUnavailable
from tests.support.token_issuer import RSA_KEY, TokenIssuer, running_issuer, sign

HOUR = 3600.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(clock: Clock) -> DocumentCache:
    return DocumentCache(clock=clock)


def source_of(issuer: TokenIssuer, **fields) -> KeySource:
    return KeySource(IssuerAddress(issuer.url, is_configured=True), **fields)


def check(issuer: TokenIssuer, text: str, documents: DocumentCache):
    expectations = Expectations(issuer.url, frozenset({"controlplane"}))
    return verify_with(source_of(issuer), read_token(text), expectations, documents=documents)


def test_keys_are_found_by_discovery_and_cached_for_an_hour(issuer, documents, clock):
    for _ in range(3):
        check(issuer, issuer.token(), documents)
    clock.now += HOUR - 1
    check(issuer, issuer.token(), documents)

    assert issuer.requests == ["/.well-known/openid-configuration", "/jwks"]

    clock.now += 1
    check(issuer, issuer.token(), documents)

    assert len(issuer.requests) == 4


def test_a_new_key_is_fetched_when_the_first_token_names_it(issuer, documents, clock):
    check(issuer, issuer.token(), documents)
    issuer.rotate("ec-2")
    clock.now += 61

    assert check(issuer, issuer.token(), documents)["sub"] == "somebody"


def test_unknown_key_ids_cause_at_most_one_request_a_minute(issuer, documents, clock):
    check(issuer, issuer.token(), documents)
    clock.now += 61
    before = len(issuer.requests)

    for number in range(20):
        with pytest.raises(JwtRefused):
            check(issuer, sign(issuer.claims(), RSA_KEY, kid=f"unknown-{number}"), documents)

    assert issuer.requests[before:] == ["/jwks"]


def test_known_keys_stay_usable_for_a_day_without_the_issuer(issuer, documents, clock):
    check(issuer, issuer.token(), documents)
    issuer.is_down = True
    clock.now += 23 * HOUR

    assert check(issuer, issuer.token(), documents)

    clock.now += HOUR
    with pytest.raises(IssuerUnavailable):
        check(issuer, issuer.token(), documents)

    issuer.is_down = False
    clock.now += 61
    assert check(issuer, issuer.token(), documents)


def test_no_token_is_accepted_while_the_keys_were_never_read(issuer, documents, clock):
    issuer.is_down = True

    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            check(issuer, issuer.token(), documents)
    assert len(issuer.requests) == 1

    issuer.is_down = False
    clock.now += 6
    assert check(issuer, issuer.token(), documents)


def test_a_broken_key_set_does_not_replace_a_good_one(issuer, documents, clock):
    check(issuer, issuer.token(), documents)
    good = issuer.token()
    issuer.answer = lambda path: (200, {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks"})
    clock.now += 2 * HOUR

    assert check(issuer, good, documents)


def test_threads_with_known_keys_do_not_wait_for_a_slow_issuer(issuer, clock):
    is_asked, may_answer = threading.Event(), threading.Event()

    def read(location):
        if clock.now > HOUR and location.url.endswith("/jwks"):
            is_asked.set()
            may_answer.wait(60)
        return read_json(location)

    documents = DocumentCache(read, clock)
    find_keys(source_of(issuer), documents=documents)
    clock.now += HOUR
    slow = threading.Thread(target=find_keys, args=(source_of(issuer),), kwargs={"documents": documents})
    slow.start()
    assert is_asked.wait(60)

    assert check(issuer, issuer.token(), documents)

    may_answer.set()
    slow.join()


def test_a_discovery_document_of_another_issuer_is_refused(issuer, documents):
    with pytest.raises(IssuerUnavailable):
        discover(IssuerAddress(f"{issuer.url}/", is_configured=True), documents)


def test_pinned_keys_cause_no_request(issuer, documents):
    source = source_of(issuer, pinned=issuer.jwks)
    expectations = Expectations(issuer.url, frozenset({"controlplane"}))

    assert verify_with(source, read_token(issuer.token()), expectations, documents=documents)
    with pytest.raises(JwtRefused):
        verify_with(source, read_token(sign(issuer.claims(), RSA_KEY, kid="new")), expectations)
    assert issuer.requests == []


def test_a_private_host_is_refused_unless_the_operator_configured_it(issuer, documents, settings):
    settings.OUTGOING_ALLOWED_NETWORKS = []
    with pytest.raises(IssuerUnavailable):
        find_keys(KeySource(IssuerAddress(issuer.url)), documents=documents)

    assert issuer.requests == []


def test_a_configured_issuer_cannot_point_to_another_private_host(documents):
    with running_issuer() as other, running_issuer() as issuer:
        issuer.answer = lambda path: (200, {"issuer": issuer.url, "jwks_uri": f"{other.url}/jwks"})

        with pytest.raises(IssuerUnavailable):
            find_keys(source_of(issuer), documents=documents)

        assert other.requests == []


def test_plain_http_is_refused_beyond_this_machine(documents, settings):
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with socket.create_server(("127.0.0.2", 0)) as server:
        url = f"http://127.0.0.2:{server.getsockname()[1]}"
        with pytest.raises(IssuerUnavailable):
            find_keys(KeySource(IssuerAddress(url, is_configured=True)), documents=documents)

        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
