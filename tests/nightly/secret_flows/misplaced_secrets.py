"""Secrets in places where they do not belong, where people and programs put them by mistake."""

from __future__ import annotations

import json
import secrets

import httpx

from tests.nightly.secret_flows.story import Story


def run(story: Story) -> None:
    url, token = story.system.url, story.token
    password = story.memory.remember("a password in a body", secrets.token_urlsafe(16))
    fake = story.memory.remember("a token of another installation", secrets.token_urlsafe(40))
    for header in (token, f"Token {token}", f"Basic {token}", f"Bearer {fake}", f"Bearer {token}x"):
        httpx.get(f"{url}/api/v1/me", headers={"Authorization": header})
    bearer = {"Authorization": f"Bearer {token}"}
    # In fields that are refused, and in bodies that cannot be read.
    httpx.post(f"{url}/api/v1/principals", json={"name": "x", "password": password}, headers=bearer)
    httpx.post(f"{url}/api/v1/principals", json={"name": "x", "secret": password}, headers=bearer)
    broken = json.dumps({"password": password})[:-1]
    httpx.post(f"{url}/api/v1/principals", content=broken, headers=bearer)
    httpx.post(f"{url}/api/v1/tokens", json={"name": "y" * 99, "token": token}, headers=bearer)
    httpx.post(f"{url}/oauth2/token", data={"grant_type": "password", "password": password})
    httpx.post(f"{url}/oauth2/token", json={"client_secret": password})
    httpx.post(f"{url}/oauth2/revoke", data={"token": token, "client_id": "flytectl"})
