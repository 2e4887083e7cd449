"""OAuth clients, issuers and identity providers as the examples of cpctl's help name them."""

from __future__ import annotations

import time
from typing import Any

import yaml

from tests.support.api_client import Api
from tests.support.described_server import request_example
from tests.support.token_issuer import RSA_KEY, sign


def trusted_issuer() -> dict[str, Any]:
    """GitHub Actions with keys of its own, so that nobody asks GitHub."""
    keys = {"keys": [{**RSA_KEY.as_dict(private=False), "use": "sig"}]}
    return {**request_example("trusted_issuers_create"), "jwks": keys}


def workload_token() -> str:
    """A token that the only rule of the trusted issuer matches."""
    issuer, now = trusted_issuer(), int(time.time())
    times = {"iat": now, "nbf": now, "exp": now + 600}
    claims = {"iss": issuer["issuer"], "aud": issuer["audiences"][0], "sub": "repo:acme/app", **times}
    return sign({**claims, **issuer["rules"][0]["match"]}, RSA_KEY)


def login_files() -> dict[str, str]:
    return {
        "github-actions.yaml": yaml.safe_dump(trusted_issuer()),
        "workload.token": workload_token(),
        "work.yaml": yaml.safe_dump(request_example("identity_providers_put")),
        "claims.yaml": yaml.safe_dump(request_example("identity_providers_test")["claims"]),
    }


def make_logins(admin: Api, *, person: str, service: str) -> dict[str, str]:
    """Create what the examples name. Returns the ids that they leave out, by command."""
    client = {**request_example("oauth_clients_create"), "principal": service}
    identity = {**request_example("identities_create"), "principal": person, "subject": "old"}
    created = [
        admin.post("oauth-clients", client),
        admin.post("trusted-issuers", trusted_issuer()),
        admin.put("identity-providers/work", request_example("identity_providers_put"), If_None_Match="*"),
        admin.post(f"oauth-clients/{client['client_id']}/secrets", {}),
        admin.post("identities", identity),
    ]
    assert [answer.status_code for answer in created] == [201] * len(created), created
    return {"clients secrets revoke": created[3].json()["id"], "identities unlink": created[4].json()["id"]}
