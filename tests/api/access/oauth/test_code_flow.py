"""Logins of command-line tools: authorization codes with PKCE."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db.models import F

from controlplane.access.models import Token
from controlplane.access.oauth.models import AccessGrant
from tests.support.api_client import Api
from tests.support.oauth_flows import CALLBACK, Login, answer_of, person_with_browser, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def login():
    return Login(person_with_browser("viewer", name="ada")[1])


def test_a_person_logs_in_to_flytectl_and_acts_with_the_roles_of_the_person(login):
    answer = answer_of(login.authorize())
    tokens = login.exchange(answer["code"])

    assert answer["state"] == login.state
    assert answer["iss"] == "http://localhost:8000"
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", answer["code"])
    assert tokens.status_code == 200
    assert tokens["Cache-Control"] == "no-store"
    body = tokens.json()
    assert body["token_type"] == "Bearer"
    assert body["expires_in"] == 1800
    assert body["scope"] == "all offline"
    assert re.fullmatch(r"cp_oat_[0-9A-Za-z]{49}", body["access_token"])
    assert re.fullmatch(r"cp_ort_[0-9A-Za-z]{49}", body["refresh_token"])
    assert Api(body["access_token"]).get("me").json()["name"] == "ada"
    assert Api(body["access_token"]).get("overrides").status_code != 401
    assert Token.objects.get(oauth__isnull=False).auth_time is not None


def test_flytekit_repeats_the_parameters_of_the_first_request(login):
    query = login.query()
    repeated = {name: query[name] for name in ("response_type", "scope", "state", "code_challenge")}

    response = login.exchange(login.code(), code_challenge_method="S256", **repeated)

    assert response.status_code == 200


def test_without_an_offline_scope_no_refresh_token_is_issued(login):
    login.scope = "all"

    assert "refresh_token" not in login.tokens()


def test_a_code_works_once_and_its_second_use_revokes_what_the_first_gave(login):
    code = login.code()
    first = login.exchange(code).json()

    second = login.exchange(code)

    assert (second.status_code, second.json()["error"]) == (400, "invalid_grant")
    assert Api(first["access_token"]).get("me").status_code == 401
    assert post("/oauth2/token", {"grant_type": "refresh_token", "client_id": "flytectl",
                                  "refresh_token": first["refresh_token"]}).status_code == 400  # fmt: skip


def test_an_expired_code_gives_nothing(login):
    code = login.code()
    AccessGrant.objects.update(expires=F("expires") - timedelta(minutes=6))

    assert login.exchange(code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "x" * 64}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "http://localhost:12345/callback"}, "invalid_grant"),
        ({"code": "A" * 43}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"client_id": "flyte-cli"}, "invalid_grant"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_id": None}, "invalid_client"),
        ({"client_secret": "guessed"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "implicit"}, "unsupported_grant_type"),
        ({"grant_type": None}, "invalid_request"),
    ],
)
def test_a_wrong_exchange_gives_no_token(login, changes, error):
    code = login.code()
    response = login.exchange(code, **changes)

    assert response.json()["error"] == error
    assert response.status_code == (401 if error == "invalid_client" else 400)
    assert response["Cache-Control"] == "no-store"
    assert not Token.objects.exists()
    assert login.exchange(code).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "id_token token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"scope": "nonsense"}, "invalid_scope"),
        ({"scope": "offline"}, "invalid_scope"),
        ({"scope": "publish:*"}, "invalid_scope"),
        ({"nonce": "n" * 300}, "invalid_request"),
        ({"nonce": "\0"}, "invalid_request"),
        ({"prompt": "none", "scope": "nonsense"}, "invalid_scope"),
    ],
)
def test_a_wrong_request_returns_to_the_client_with_an_error(login, changes, error):
    response = login.authorize(**changes)

    answer = answer_of(response)
    assert response["Location"].startswith(f"{CALLBACK}?")
    assert (answer["error"], answer["state"]) == (error, login.state)
    assert answer["iss"] == "http://localhost:8000"
    assert "code" not in answer


def test_a_person_who_is_not_logged_in_logs_in_first(login):
    login.browser.logout()

    response = login.authorize()
    silent = login.authorize(prompt="none")

    assert response.status_code == 302
    assert response["Location"].startswith("/login?redirect_url=%2Foauth2%2Fauthorize%3F")
    assert answer_of(silent)["error"] == "login_required"


def test_a_disabled_person_gets_no_tokens_for_a_code(login):
    from controlplane.access import principals
    from tests.support.api_client import ACTOR, make_principal

    make_principal("admin")
    code = login.code()
    principals.set_active("ada", is_active=False, actor=ACTOR)

    assert login.exchange(code).json()["error"] == "invalid_grant"


def test_response_mode_cannot_move_the_code_into_the_fragment(login):
    location = login.authorize(response_mode="fragment")["Location"]

    assert "#" not in location
    assert "code=" in location
