"""SCIM: its token, and a password that a provider sends and nobody keeps."""

from __future__ import annotations

import secrets

from tests.nightly.secret_flows.story import Story
from tests.support.secret_memory import TOKEN


def run(story: Story) -> None:
    output = story.command("scim_token", "--principal", story.name, "--days", "5")
    (token,) = TOKEN.findall(output)
    password = story.memory.remember("a password by SCIM", secrets.token_urlsafe(16))
    user = story.api(
        "POST", "/scim/v2/Users", {"userName": "bob", "password": password}, token=token, expect=201
    )
    new = story.memory.remember("a new password by SCIM", secrets.token_urlsafe(16))
    operation = {"op": "replace", "path": "password", "value": new}
    schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
    body = {"schemas": schemas, "Operations": [operation]}
    story.api("PATCH", f"/scim/v2/Users/{user['id']}", body, token=token)
    story.api("DELETE", f"/scim/v2/Users/{user['id']}", token=token, expect=204)
