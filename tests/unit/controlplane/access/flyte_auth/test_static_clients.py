"""Upstream's `staticClients`, in a file of their own or in the configuration."""

from __future__ import annotations

import base64

import pytest

from controlplane.access.flyte_auth.sections import InvalidConfiguration
from controlplane.access.flyte_auth.static_clients import parse

HASH = "$2a$06$abcdefghijklmnopqrstuuAQXs7RiJbSKmjTKeAZKL3Eo0V9n0xCu"
PROPELLER = f"""
flytepropeller:
  id: flytepropeller
  client_secret: "{HASH}"
  redirect_uris: [http://localhost:3846/callback]
  grant_types: [refresh_token, client_credentials]
  response_types: [token]
  scopes: [all, offline, access_token]
  public: false
"""


def clients(text: str) -> str:
    return "staticClients:\n" + "".join(f"  {line}\n" for line in text.strip().splitlines())


def test_a_client_is_read_as_upstream_prints_it():
    (client,) = parse(clients(PROPELLER), "clients.yaml").clients

    assert (client.client_id, client.is_public, client.secret_hash) == ("flytepropeller", False, HASH)
    assert client.redirect_uris == ("http://localhost:3846/callback",)
    assert client.grant_types == ("refresh_token", "client_credentials")
    assert client.scopes == ("all", "offline", "access_token")
    assert HASH not in repr(client)


@pytest.mark.parametrize("path", ["auth.appAuth.selfAuthServer", "appAuth.selfAuthServer", "selfAuthServer"])
def test_clients_are_found_in_the_configuration(path):
    text = clients(PROPELLER)
    for name in reversed(path.split(".")):
        text = f"{name}:\n" + "".join(f"  {line}\n" for line in text.splitlines())

    assert [client.client_id for client in parse(text, "clients.yaml").clients] == ["flytepropeller"]


def test_a_hash_may_be_base64_as_in_the_guide_of_flyte_core():
    text = PROPELLER.replace(HASH, base64.b64encode(HASH.encode()).decode())

    (client,) = parse(clients(text), "clients.yaml").clients

    assert client.secret_hash == HASH


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (
            (HASH, "a-plain-secret"),
            "line 4: `staticClients.flytepropeller.client_secret` must be a bcrypt hash",
        ),
        (("id: flytepropeller", "id: 'a b'"), "must have 1 to 100 ASCII characters"),
        (
            ("[refresh_token,", "[teleport,"),
            "`staticClients.flytepropeller.grant_types` has an unknown grant",
        ),
        (("http://localhost:3846/callback", "not-a-url"), "`staticClients.flytepropeller.redirect_uris[0]`"),
        (("public: false", "public: no"), "must be true or false"),
    ],
)
def test_a_mistake_names_file_and_line_and_no_secret(change, mistake):
    with pytest.raises(InvalidConfiguration) as refused:
        parse(clients(PROPELLER.replace(*change)), "clients.yaml")

    assert mistake in str(refused.value)
    assert str(refused.value).startswith("clients.yaml, line ")
    assert "a-plain-secret" not in str(refused.value)


def test_two_clients_with_one_id_are_a_mistake():
    text = "a:\n  id: x\n  public: true\nb:\n  id: x\n  public: true\n"

    with pytest.raises(InvalidConfiguration, match=r"`staticClients.b.id` belongs to another client"):
        parse(clients(text), "clients.yaml")


def test_grants_that_are_never_supported_are_left_out_with_a_warning():
    text = "a:\n  public: true\n  grant_types: [implicit, authorization_code]\n  rotated_secrets: [x]\n"

    static = parse(clients(text), "clients.yaml")

    assert static.clients[0].grant_types == ("authorization_code",)
    assert len(static.warnings) == 2


def test_a_file_without_clients_is_a_mistake():
    with pytest.raises(InvalidConfiguration, match="there is no `staticClients`"):
        parse("a: 1\n", "clients.yaml")
