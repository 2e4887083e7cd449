"""Guessing passwords: how often, by name, address and altogether; and with parallel guesses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network

import pytest
from django.test import Client

from controlplane.access import attempt_counters, principals
from controlplane.access.login.limits import PER_NAME_AND_ADDRESS, Attempt, count_attempt, forgive
from controlplane.access.models import PrincipalKind
from tests.support.api_client import ACTOR

PASSWORD = "correct horse battery"
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _fresh_counters():
    attempt_counters._local.forget(list(attempt_counters._local._counts))
    attempt_counters._valkey.end()
    yield
    attempt_counters._valkey.end()


@pytest.fixture
def jane(db):
    return principals.create_principal("jane", kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)


def log_in(name="jane", password="wrong", client=None, **meta):
    return (client or Client(**meta)).post("/login", {"username": name, "password": password})


def guess(times=PER_NAME_AND_ADDRESS, **attempt):
    return [log_in(**attempt).status_code for _ in range(times)]


def test_guessing_ends_even_with_the_right_password_at_last(jane):
    assert set(guess()) == {422}

    answer = log_in(password=PASSWORD)

    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert "Wait five minutes" in answer.content.decode()


@pytest.mark.parametrize(
    "spelling", ["ｊane", "ｊａｎｅ", " jane", "jane ", "\tjane", "\u00a0jane", "ja\uff4ee"]
)
def test_another_spelling_of_the_name_gives_no_further_guesses(jane, spelling):
    guess()

    assert log_in(spelling).status_code == 429
    assert log_in(spelling, PASSWORD).status_code == 429


def test_a_spelling_that_the_form_accepts_logs_in(jane):
    assert log_in("ｊane ", PASSWORD).status_code == 302


def test_an_address_has_so_many_guesses_whatever_the_names(jane, settings):
    settings.LOGIN_FAILURES_PER_ADDRESS = 12
    for number in range(12):
        assert log_in(f"guess-{number}", REMOTE_ADDR="192.0.2.1").status_code == 422

    assert log_in("another", REMOTE_ADDR="192.0.2.1").status_code == 429
    assert log_in(password=PASSWORD, REMOTE_ADDR="192.0.2.2").status_code == 302


def test_a_network_of_ipv6_counts_as_an_address(jane, settings):
    settings.LOGIN_FAILURES_PER_ADDRESS = 5
    for number in range(5):
        log_in(f"guess-{number}", REMOTE_ADDR=f"2001:db8::{number + 1}")

    assert log_in("another", REMOTE_ADDR="2001:db8::ffff").status_code == 429


def test_a_name_has_so_many_guesses_from_all_addresses(jane, settings):
    settings.LOGIN_FAILURES_PER_NAME = 12
    for number in range(12):
        assert log_in(REMOTE_ADDR=f"192.0.2.{number}").status_code == 422

    assert log_in(password=PASSWORD, REMOTE_ADDR="192.0.2.200").status_code == 429
    assert log_in("other", REMOTE_ADDR="192.0.2.201").status_code == 422


def test_there_is_a_limit_for_all_names_and_addresses_together(jane, settings):
    settings.LOGIN_FAILURES_IN_ALL = 12
    for number in range(12):
        assert log_in(f"guess-{number}", REMOTE_ADDR=f"192.0.2.{number}").status_code == 422

    assert log_in("another", REMOTE_ADDR="192.0.2.200").status_code == 429


def test_one_address_cannot_use_up_what_others_have(jane, settings):
    settings.LOGIN_FAILURES_PER_NAME = settings.LOGIN_FAILURES_IN_ALL = PER_NAME_AND_ADDRESS + 5
    guess(40, REMOTE_ADDR="192.0.2.1")

    assert log_in(password=PASSWORD, REMOTE_ADDR="192.0.2.2").status_code == 302


def test_a_browser_that_logged_in_before_is_not_locked_out_by_others(jane, settings):
    settings.LOGIN_FAILURES_PER_NAME = 5
    client = Client()
    log_in(password=PASSWORD, client=client)
    client.post("/logout")
    for number in range(6):
        log_in(REMOTE_ADDR=f"192.0.2.{number}")
    assert log_in(password=PASSWORD).status_code == 429

    assert log_in(password=PASSWORD, client=client).status_code == 302


def test_a_known_browser_has_a_limit_too_and_is_known_for_its_name_alone(jane):
    client = Client()
    log_in(password=PASSWORD, client=client)
    client.post("/logout")
    statuses = guess(PER_NAME_AND_ADDRESS + 1, client=client)
    principals.create_principal("joe", kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    status_codes = [log_in("joe", client=client).status_code for _ in range(PER_NAME_AND_ADDRESS + 1)]

    assert statuses == [422] * PER_NAME_AND_ADDRESS + [429]
    assert status_codes == [422] * PER_NAME_AND_ADDRESS + [429]
    # As from anywhere else.
    assert log_in("joe").status_code == 429


def test_behind_a_trusted_proxy_the_client_is_counted(jane, settings):
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]

    def through_proxy(client, **attempt):
        return log_in(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=f"203.0.113.1, {client}", **attempt)

    for _ in range(PER_NAME_AND_ADDRESS):
        through_proxy("192.0.2.1")

    assert through_proxy("192.0.2.1", password=PASSWORD).status_code == 429
    assert through_proxy("192.0.2.2", password=PASSWORD).status_code == 302


def test_a_header_that_anybody_can_send_gives_no_further_guesses(jane):
    for number in range(PER_NAME_AND_ADDRESS):
        log_in(HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")

    assert log_in(password=PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.200").status_code == 429


def test_logging_in_takes_back_the_failures_before(jane):
    for _ in range(2):
        assert set(guess(PER_NAME_AND_ADDRESS - 1)) == {422}
        assert log_in(password=PASSWORD).status_code == 302


def test_successful_logins_use_nothing_up(jane, settings):
    settings.LOGIN_FAILURES_PER_ADDRESS = settings.LOGIN_FAILURES_PER_NAME = 3
    settings.LOGIN_FAILURES_IN_ALL = 3

    assert {log_in(password=PASSWORD).status_code for _ in range(8)} == {302}


def test_the_limit_holds_without_valkey(jane, settings):
    settings.REDIS_URL = NOWHERE
    guess()

    assert log_in(password=PASSWORD).status_code == 429


def test_valkey_may_lose_every_count(jane):
    guess(5)
    attempt_counters._client(attempt_counters.settings.REDIS_URL).flushall()

    assert log_in(password=PASSWORD).status_code == 302


def test_parallel_guesses_are_counted_one_by_one():
    attempt = Attempt("parallel", "192.0.2.9")

    with ThreadPoolExecutor(8) as pool:
        refused = list(pool.map(lambda _: count_attempt(attempt), range(40)))

    assert refused.count(False) == PER_NAME_AND_ADDRESS


def test_parallel_guesses_are_counted_one_by_one_without_valkey(settings):
    settings.REDIS_URL = NOWHERE
    attempt = Attempt("parallel", "192.0.2.9")

    with ThreadPoolExecutor(8) as pool:
        refused = list(pool.map(lambda _: count_attempt(attempt), range(40)))

    assert refused.count(False) == PER_NAME_AND_ADDRESS


def test_a_forgiven_attempt_leaves_the_shared_counts_as_they_were(settings):
    settings.LOGIN_FAILURES_IN_ALL = 5
    attempt = Attempt("jane", "192.0.2.9")
    for _ in range(50):
        assert not count_attempt(attempt)
        forgive(attempt)
