"""OAuth clients in the console."""

from __future__ import annotations

import re

import pytest

from controlplane.access.oauth.models import ClientSecret, OAuthClient
from controlplane.identity.roles import Role
from tests.support.api_client import logged_in, make_principal
from tests.support.oauth_flows import basic, token_request

pytestmark = pytest.mark.django_db
FORM = {
    "client_id": "ci",
    "type": "confidential",
    "principal": "ci-service",
    "scopes": "all",
    "redirect_uris": "",
}


@pytest.fixture
def browser():
    make_principal("viewer", name="ci-service")
    return logged_in("ada", Role.ADMIN)


def test_an_administrator_creates_a_client_and_a_secret_and_revokes_it(browser):
    created = browser.post("/oauth-clients", FORM)
    page = browser.post("/oauth-clients/ci").content.decode()
    secret = re.search(r"cp_ocs_\w{49}", page)[0]
    works = token_request({"grant_type": "client_credentials"}, **basic("ci", secret))
    row = ClientSecret.objects.get()
    browser.post(f"/oauth-clients/ci/secrets/{row.id}/revoke")

    assert created["Location"] == "/oauth-clients/ci"
    assert OAuthClient.objects.get(client_id="ci").allowed_grants == ["client_credentials"]
    assert works.status_code == 200
    assert secret not in browser.get("/oauth-clients/ci").content.decode()
    assert token_request({"grant_type": "client_credentials"}, **basic("ci", secret)).status_code == 401


def test_a_client_for_logins_gets_the_grants_of_logins(browser):
    browser.post(
        "/oauth-clients", FORM | {"type": "public", "principal": "", "redirect_uris": "http://127.0.0.1/cb"}
    )

    grants = OAuthClient.objects.get(client_id="ci").allowed_grants
    assert grants == ["authorization_code", "refresh_token", "device_code"]


def test_an_invalid_client_is_explained_and_the_form_keeps_its_input(browser):
    response = browser.post("/oauth-clients", FORM | {"scopes": "nonsense"})

    assert response.status_code == 400
    assert "nonsense" in response.content.decode()
    assert not OAuthClient.objects.filter(client_id="ci").exists()


def test_a_client_is_deleted_after_a_confirmation(browser):
    browser.post("/oauth-clients", FORM)
    asked = browser.get("/oauth-clients/ci/delete")
    browser.post("/oauth-clients/ci/delete")

    assert "stop working immediately" in asked.content.decode()
    assert not OAuthClient.objects.filter(client_id="ci").exists()


@pytest.mark.parametrize("path", ["", "/flytectl", "/flytectl/delete"])
def test_others_see_no_clients(path):
    assert logged_in("eve", Role.EDITOR).get(f"/oauth-clients{path}").status_code == 403


def test_built_in_clients_are_shown_without_secrets_and_cannot_be_deleted(browser):
    page = browser.get("/oauth-clients/flytectl").content.decode()

    assert "http://localhost:53593/callback" in page
    assert "Create secret" not in page
    assert "Delete client" not in page
    assert browser.post("/oauth-clients/flytectl/delete").status_code == 409
    assert browser.get("/oauth-clients/nobody").status_code == 404
