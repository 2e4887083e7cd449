"""Requests at the same time: each code gives tokens once, and no login splits into two."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from controlplane.access.models import Token
from controlplane.access.oauth import issuance
from controlplane.access.oauth.models import AccessGrant, OAuthAccessToken, RefreshToken, TokenFamily
from tests.support.api_client import Api
from tests.support.oauth_flows import Login, person_with_browser, refresh, token_request

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls):
    """The responses of calls that begin together."""
    barrier, responses = threading.Barrier(len(calls)), [None] * len(calls)

    def run(index, call):
        barrier.wait()
        try:
            responses[index] = call()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return responses


@pytest.fixture
def login():
    return Login(person_with_browser("viewer")[1])


def test_of_two_exchanges_of_one_code_one_succeeds_and_then_nothing_is_valid(login):
    for _ in range(3):
        code = login.code()
        responses = at_once(*[lambda code=code: login.exchange(code)] * 4)

        statuses = sorted(response.status_code for response in responses)
        assert statuses == [200, 400, 400, 400]
        tokens = next(response.json() for response in responses if response.status_code == 200)
        assert Api(tokens["access_token"]).get("me").status_code == 401
        assert refresh(tokens["refresh_token"]).status_code == 400


def test_parallel_refreshes_within_the_grace_period_all_succeed(login):
    token = login.tokens()["refresh_token"]

    responses = at_once(*[lambda: refresh(token)] * 4)

    assert [response.status_code for response in responses] == [200] * 4
    family = TokenFamily.objects.get()
    assert family.revoked_at is None
    assert family.generation == 2
    assert len({response.json()["refresh_token"] for response in responses}) == 4


def test_a_refresh_and_a_revocation_leave_nothing_valid(login):
    for _ in range(3):
        tokens = login.tokens()
        family = TokenFamily.objects.order_by("-created_at").first()

        (refreshed, _) = at_once(
            lambda tokens=tokens: refresh(tokens["refresh_token"]),
            lambda family=family: issuance.revoke_family(family),
        )

        left = [tokens["access_token"]]
        left += [refreshed.json()["access_token"]] if refreshed.status_code == 200 else []
        assert {Api(token).get("me").status_code for token in left} == {401}


def test_a_device_code_gives_tokens_once(login):
    from tests.support.oauth_flows import DEVICE_GRANT, post

    codes = post("/oauth2/device", {"client_id": "flytectl"}).json()
    login.browser.post("/device", {"user_code": codes["user_code"], "decision": "approve"})
    parameters = {"client_id": "flytectl", "device_code": codes["device_code"], "grant_type": DEVICE_GRANT}

    responses = at_once(*[lambda: token_request(parameters)] * 3)

    assert sorted(response.status_code for response in responses) == [200, 400, 400]
    assert not Token.objects.filter(oauth__isnull=False, revoked_at=None).exists()


def test_a_failure_after_issuing_leaves_no_token_and_no_used_code(login, monkeypatch):
    """As if the process were killed between the tokens and the response: the client never saw them."""
    from controlplane.endpoints.access.oauth import token_endpoint

    code = login.code()
    with monkeypatch.context() as patched:
        patched.setattr(token_endpoint, "_engine_response", lambda body, status: 1 / 0)
        failed = login.exchange(code)

    assert failed.status_code == 500
    assert not Token.objects.filter(oauth__isnull=False).exists()
    assert not RefreshToken.objects.exists()
    assert not OAuthAccessToken.objects.exists()
    assert AccessGrant.objects.get().used_at is None
    assert login.exchange(code).status_code == 200


def test_revocation_moves_the_access_epoch(login):
    def epoch():
        with connection.cursor() as cursor:
            cursor.execute("SELECT epoch FROM access_epoch")
            return cursor.fetchone()[0]

    login.tokens()
    before = epoch()
    with transaction.atomic():
        issuance.revoke_family(TokenFamily.objects.get())

    assert epoch() != before
