"""A SCIM client with a token that allows nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from controlplane.access import principals
from controlplane.access.models import Principal
from controlplane.identity.ceilings import SCIM
from tests.support.api_client import ACTOR, make_principal

ISSUER = "https://corp.okta.example"


class ScimClient:
    """Requests as an identity provider sends them."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._client = Client(raise_request_exception=True)

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send a request and return the JSON of the response, which must have this status."""
        response = self._client.generic(
            method,
            f"/scim/v2/{path}",
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {self.token}"},
        )
        assert response.status_code == status, response.content.decode()
        if status == 204:
            return None
        assert response["Content-Type"] == "application/scim+json"
        return json.loads(response.content)

    def user(self, user_name: str, **fields: Any) -> Any:
        schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"]
        return self("POST", "Users", {"schemas": schemas, "userName": user_name, **fields}, 201)

    def group(self, name: str, *member_ids: str, status: int = 201, **fields: Any) -> Any:
        schemas = ["urn:ietf:params:scim:schemas:core:2.0:Group"]
        members = [{"value": member_id} for member_id in member_ids]
        body = {"schemas": schemas, "displayName": name, "members": members, **fields}
        return self("POST", "Groups", body, status)

    def patch(self, path: str, *operations: Any, status: int = 200) -> Any:
        schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
        return self("PATCH", path, {"schemas": schemas, "Operations": list(operations)}, status)


def scim_token(principal: Principal, *scopes: str) -> str:
    _, secret = principals.create_token(
        principal, name="SCIM", expires_at=None, actor=ACTOR, scopes=scopes or [SCIM]
    )
    return secret


@pytest.fixture
def scim(db: None, settings: Any) -> ScimClient:
    settings.SCIM = True
    settings.SCIM_ISSUER = ISSUER
    settings.PUBLIC_URL = "https://cp.example.com"
    return ScimClient(scim_token(make_principal("admin", name="okta")))
