"""The API of OAuth clients and their secrets, for administrators."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.access import principals
from controlplane.access.models import AuditRecord, CustomRole, PrincipalKind
from controlplane.access.oauth import clients
from controlplane.access.oauth.client_specs import BUILT_IN, ClientSpec
from controlplane.access.oauth.clients import ensure_built_in_clients, ensure_client
from controlplane.access.oauth.models import ClientSecret, OAuthClient
from controlplane.access.role_bindings import bind_role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, make_principal, token_for
from tests.support.oauth_flows import Login, basic, person_with_browser, refresh, token_request

pytestmark = pytest.mark.django_db
BODY = {"client_id": "ci", "grants": ["client_credentials"], "scopes": ["read"], "default_scopes": ["read"]}


@pytest.fixture
def service():
    return make_principal("viewer", name="ci-service")


@pytest.fixture
def created(api, service):
    return api.post("oauth-clients", {**BODY, "principal": service.name})


def test_an_administrator_creates_a_client_with_a_secret_that_works(api, created):
    secret = api.post("oauth-clients/ci/secrets", {}).json()

    token = token_request({"grant_type": "client_credentials"}, **basic("ci", secret["secret"])).json()

    assert created.status_code == 201
    assert created["Location"] == "/api/v1/oauth-clients/ci"
    assert created["ETag"] == '"v1"'
    assert secret["hint"] == secret["secret"][:11]
    assert Api(token["access_token"]).get("me").json()["name"] == "ci-service"
    listed = api.get("oauth-clients/ci/secrets")
    assert secret["secret"] not in listed.content.decode()
    assert listed.json()["items"][0]["last_used_at"] is not None


def test_a_repeated_request_for_a_secret_does_not_show_it_again(api, created):
    first, second = (
        api.post("oauth-clients/ci/secrets", {}, Idempotency_Key='"k1"').json() for _ in range(2)
    )

    assert first["id"] == second["id"]
    assert second["secret"] is None
    assert ClientSecret.objects.count() == 1


def test_a_client_has_at_most_two_valid_secrets(api, created):
    ids = [api.post("oauth-clients/ci/secrets", {}).json()["id"] for _ in range(2)]
    third = api.post("oauth-clients/ci/secrets", {})
    revoked = api.delete(f"oauth-clients/ci/secrets/{ids[0]}")

    assert (third.status_code, third.json()["code"]) == (409, "limit_reached")
    assert revoked.status_code == 204
    assert api.post("oauth-clients/ci/secrets", {}).status_code == 201


@pytest.mark.parametrize("expires_at", ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"])
def test_a_secret_lives_at_most_two_years(api, created, expires_at):
    assert api.post("oauth-clients/ci/secrets", {"expires_at": expires_at}).status_code == 400


def test_dry_run_saves_nothing(api, service):
    response = api.post("oauth-clients?dry_run=true", {**BODY, "principal": service.name})

    assert response.status_code == 201
    assert not OAuthClient.objects.filter(client_id="ci").exists()


def test_updates_need_the_current_etag(api, created):
    without = api.patch("oauth-clients/ci", {"name": "CI"})
    stale = api.patch("oauth-clients/ci", {"name": "CI"}, If_Match='"v9"')
    good = api.patch("oauth-clients/ci", {"name": "CI"}, If_Match=created["ETag"])

    assert [r.status_code for r in (without, stale, good)] == [428, 412, 200]
    assert good["ETag"] == '"v2"'
    assert AuditRecord.objects.get(action="oauth_client.changed").after["name"] == "CI"


def test_a_disabled_or_deleted_client_loses_its_tokens(api, service):
    for number, end in enumerate(("patch", "delete")):
        client_id = f"ci{number}"
        api.post("oauth-clients", {**BODY, "client_id": client_id, "principal": service.name})
        secret = api.post(f"oauth-clients/{client_id}/secrets", {}).json()["secret"]
        token = token_request({"grant_type": "client_credentials"}, **basic(client_id, secret)).json()
        if end == "patch":
            api.patch(f"oauth-clients/{client_id}", {"is_active": False}, If_Match='"v1"')
        else:
            assert api.delete(f"oauth-clients/{client_id}", If_Match='"v1"').status_code == 204

        assert Api(token["access_token"]).get("me").status_code == 401
        again = token_request({"grant_type": "client_credentials"}, **basic(client_id, secret))
        assert again.status_code == 401


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"client_id": "-x"}, "/client_id"),
        ({"client_id": "a b"}, "/client_id"),
        ({"redirect_uris": ["http://evil.example/"]}, "/redirect_uris/0"),
        ({"redirect_uris": ["https://x.example/#a"]}, "/redirect_uris/0"),
        ({"scopes": ["nonsense"]}, "/scopes"),
        ({"scopes": []}, "/scopes"),
        ({"grants": ["password"]}, "/grants/0"),
        ({"grants": ["authorization_code"]}, "/redirect_uris"),
        ({"type": "public"}, "/principal"),
        ({"type": "public", "principal": ""}, "/grants"),
        ({"principal": ""}, "/principal"),
        ({"is_trusted": True}, "/is_trusted"),
    ],
)
def test_what_a_client_may_not_be(api, service, changes, pointer):
    response = api.post("oauth-clients", {**BODY, "principal": service.name, **changes})

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert not OAuthClient.objects.filter(source="api").exists()


def test_the_principal_of_a_client_is_an_existing_service(api):
    principals.create_principal("ada", kind=PrincipalKind.PERSON, actor=ACTOR)

    assert api.post("oauth-clients", {**BODY, "principal": "ada"}).status_code == 400
    assert api.post("oauth-clients", {**BODY, "principal": "nobody"}).status_code == 404


def test_built_in_clients_are_listed_and_read_only(api):
    listed = {item["client_id"]: item for item in api.get("oauth-clients").json()["items"]}

    assert set(listed) == {"flytectl", "flyte-cli", "cpctl"}
    assert listed["flytectl"]["redirect_uris"] == [
        "http://localhost:53593/callback",
        "http://localhost:12345/callback",
    ]
    assert listed["flytectl"]["source"] == "setting"
    patched = api.patch("oauth-clients/flytectl", {"name": "x"}, If_Match='"v1"')
    deleted = api.delete("oauth-clients/flytectl", If_Match='"v1"')
    assert {patched.json()["code"], deleted.json()["code"]} == {"source_is_read_only"}
    assert api.post("oauth-clients/flytectl/secrets", {}).status_code == 400
    body = {**BODY, "client_id": "cpctl", "type": "public", "grants": ["refresh_token"]}
    assert api.post("oauth-clients", body).status_code == 409


@pytest.mark.parametrize("role", ["viewer", "editor", "agent"])
def test_others_may_neither_read_nor_write(role, created):
    caller = Api(token_for(role))

    responses = [
        caller.get("oauth-clients"),
        caller.get("oauth-clients/ci"),
        caller.post("oauth-clients", BODY),
        caller.delete("oauth-clients/ci", If_Match='"v1"'),
        caller.get("oauth-clients/ci/secrets"),
        caller.post("oauth-clients/ci/secrets", {}),
        caller.get("signing-keys"),
        caller.post("signing-keys:rotate"),
    ]

    assert {response.status_code for response in responses} == {403}


@pytest.mark.parametrize("path", ["oauth-clients/nobody", "oauth-clients/nobody/secrets"])
def test_an_unknown_client_is_404(api, path):
    assert (api.get(path).status_code, api.get(path).json()["code"]) == (404, "unknown_oauth_client")


def test_keys_are_rotated_through_the_api(api):
    first = api.post("signing-keys:rotate").json()
    second = api.post("signing-keys:rotate").json()

    states = {key["kid"]: key["state"] for key in api.get("signing-keys").json()["items"]}
    assert states[first["kid"]] == "retired"
    assert states[second["kid"]] == "active"
    assert sorted(states.values()) == ["active", "next", "retired"]
    assert "private" not in api.get("signing-keys").content.decode()


def test_built_in_clients_are_restored_and_otherwise_left_alone():
    before = dict(OAuthClient.objects.values_list("client_id", "version"))
    OAuthClient.objects.filter(client_id="cpctl").update(redirect_uris="https://evil.example/")

    ensure_built_in_clients()

    after = dict(OAuthClient.objects.values_list("client_id", "version"))
    assert after == before | {"cpctl": before["cpctl"] + 1}
    assert OAuthClient.objects.get(client_id="cpctl").redirect_uris == "http://127.0.0.1/callback"
    assert {spec.client_id for spec in BUILT_IN} == set(after)


def test_a_client_of_the_settings_with_a_bcrypt_hash_authenticates_and_gets_a_fast_hash():
    import bcrypt

    secret = "F8kQz1mW4xT7rB2nV9cJ5hD3gL6pS0aY"
    hashed = bcrypt.hashpw(secret.encode(), bcrypt.gensalt(4)).decode()
    spec = ClientSpec("flytepropeller", is_public=False, grants=("client_credentials", "refresh_token"),
                      principal="flytepropeller", bcrypt_hash=hashed)  # fmt: skip
    for _ in range(2):
        ensure_client(spec)

    def ask(candidate):
        return token_request({"grant_type": "client_credentials"}, **basic("flytepropeller", candidate))

    assert ask("wrong").status_code == 401
    assert ask(secret).status_code == 200
    row = ClientSecret.objects.get()
    assert row.slow_hash == ""
    assert row.digest is not None
    assert ask(secret).status_code == 200
    ensure_client(spec)
    assert ClientSecret.objects.get().digest is not None
    assert ask(secret).status_code == 200


def test_a_short_secret_keeps_its_slow_hash():
    import bcrypt

    hashed = bcrypt.hashpw(b"foobar", bcrypt.gensalt(4)).decode()
    spec = ClientSpec("propeller", is_public=False, grants=("client_credentials",), principal="propeller")
    ensure_client(replace(spec, bcrypt_hash=hashed))

    response = token_request({"grant_type": "client_credentials"}, **basic("propeller", "foobar"))

    assert response.status_code == 200
    assert ClientSecret.objects.get().slow_hash == hashed


def test_a_changed_hash_of_the_settings_replaces_the_old_secret():
    import bcrypt

    def ensure(secret):
        hashed = bcrypt.hashpw(secret, bcrypt.gensalt(4)).decode()
        ensure_client(ClientSpec("propeller", is_public=False, grants=("client_credentials",),
                                 principal="propeller", bcrypt_hash=hashed))  # fmt: skip

    ensure(b"first")
    ensure(b"second")

    answers = [
        token_request({"grant_type": "client_credentials"}, **basic("propeller", secret)).status_code
        for secret in ("first", "second")
    ]
    assert answers == [401, 200]


def test_deleting_a_client_ends_logins_of_people(api):
    clients.create_client(
        ClientSpec("tool", redirect_uris=("http://127.0.0.1/callback",), is_trusted=True), actor=ACTOR
    )
    tokens = Login(
        person_with_browser("viewer")[1], client_id="tool", redirect_uri="http://127.0.0.1:9/callback"
    ).tokens()

    api.delete("oauth-clients/tool", If_Match='"v1"')

    assert Api(tokens["access_token"]).get("me").status_code == 401
    assert refresh(tokens["refresh_token"], "tool").status_code == 401


def test_nobody_sets_up_a_client_with_more_rights_than_their_own(api):
    service = make_principal("admin", name="root-service")
    api.post("oauth-clients", {**BODY, "client_id": "root", "principal": service.name})
    role = CustomRole.objects.create(name="clients", actions=["access.read", "access.write"])
    delegate = make_principal(name="delegate")
    bind_role(delegate, role, Scope(), actor=ACTOR)
    caller = Api(principals.create_token(delegate, name="t", expires_at=None, actor=ACTOR)[1])

    created = caller.post("oauth-clients", {**BODY, "principal": service.name})
    secret = caller.post("oauth-clients/root/secrets", {})

    assert [created.status_code, secret.status_code] == [403, 403]
    assert "permissions that you lack" in created.json()["detail"]
