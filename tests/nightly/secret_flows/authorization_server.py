"""The authorization server: client secrets, codes with PKCE, refresh, devices, revocation."""

from __future__ import annotations

import secrets
from typing import Any

import httpx

from tests.nightly.secret_flows.story import Story
from tests.support.oauth_flows import CALLBACK, DEVICE_GRANT, Login, answer_of, basic


def run(story: Story) -> None:
    _client_credentials(story)
    _code(story)
    _device(story)


def token(story: Story, parameters: dict[str, str], *, expect: int = 200, **headers: str) -> Any:
    """Call the token endpoint, and remember what it gives."""
    response = httpx.post(f"{story.system.url}/oauth2/token", data=parameters, headers=headers)
    assert response.status_code == expect, response.text
    story.remember_tokens(f"the grant {parameters['grant_type']}", response.text)
    return response.json()


def _client_credentials(story: Story) -> None:
    client = {
        "client_id": "pipeline",
        "type": "confidential",
        "grants": ["client_credentials"],
        "scopes": ["all", "read"],
        "principal": "robot",
    }
    story.api("POST", "oauth-clients", client, expect=201)
    secret = story.api("POST", "oauth-clients/pipeline/secrets", {}, expect=201)["secret"]
    story.memory.remember("a client secret", secret)
    parameters = {"grant_type": "client_credentials", "scope": "read"}
    header = basic("pipeline", secret)
    story.memory.remember("a client secret in Basic", header["Authorization"].removeprefix("Basic "))
    issued = token(story, parameters, **header)
    token(story, parameters | {"client_id": "pipeline", "client_secret": secret})
    story.api("GET", "me", token=issued["access_token"])
    wrong = story.memory.remember("a wrong client secret", secrets.token_urlsafe(32))
    token(story, parameters, expect=401, **basic("pipeline", wrong))
    for path in ("introspect", "revoke"):
        data = {"token": issued["access_token"]}
        httpx.post(f"{story.system.url}/oauth2/{path}", data=data, headers=header).raise_for_status()


def _code(story: Story) -> None:
    login = Login(browser=None, redirect_uri=CALLBACK)  # type: ignore[arg-type]  # only its parameters
    story.memory.remember("a code verifier", login.verifier)
    response = story.browser.get("/oauth2/authorize", params=login.query())
    code = story.memory.remember("a code", _parameters(response)["code"])
    parameters = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "client_id": "flytectl",
        "code_verifier": login.verifier,
    }
    issued = token(story, parameters)
    story.api("GET", "me", token=issued["access_token"])
    again = {"grant_type": "refresh_token", "client_id": "flytectl"}
    refreshed = token(story, again | {"refresh_token": issued["refresh_token"]})
    # Used twice: everything is revoked.
    token(story, parameters, expect=400)
    token(story, again | {"refresh_token": refreshed["refresh_token"]}, expect=400)


def _parameters(response: httpx.Response) -> dict[str, str]:
    class Answer:
        status_code, content = response.status_code, response.content

        def __getitem__(self, name: str) -> str:
            return response.headers[name]

    return answer_of(Answer())


def _device(story: Story) -> None:
    data = {"client_id": "flytectl", "scope": "all offline"}
    codes = httpx.post(f"{story.system.url}/oauth2/device", data=data).json()
    story.memory.remember("a device code", codes["device_code"])
    story.memory.remember("a user code", codes["user_code"])
    story.memory.remember("a user code without its dash", codes["user_code"].replace("-", ""))
    form = {"user_code": codes["user_code"], "decision": "approve"}
    approved = story.submit(story.browser, f"/device?user_code={codes['user_code']}", form)
    assert approved.status_code < 400, approved.text[:500]
    parameters = {"grant_type": DEVICE_GRANT, "client_id": "flytectl", "device_code": codes["device_code"]}
    issued = token(story, parameters)
    story.api("GET", "me", token=issued["access_token"])
