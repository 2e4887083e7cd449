"""Tokens of people and services: created in the console and by the API, used, and revoked."""

from __future__ import annotations

from tests.nightly.secret_flows.story import Story


def run(story: Story) -> None:
    created = story.submit(story.browser, "/tokens", {"name": "laptop", "days": "30"})
    assert created.status_code == 200, created.text[:500]
    story.remember_tokens("a token in the console", created.text)
    parent = story.api("POST", "tokens", {"name": "parent"}, expect=201)
    child = story.api("POST", "tokens", {"name": "child"}, token=parent["token"], expect=201)
    story.api("GET", "me", token=child["token"])
    story.api("DELETE", f"tokens/{parent['id']}", expect=204)
    story.api("GET", "me", token=child["token"], expect=401)
    story.api("POST", "principals", {"name": "robot", "kind": "service"}, expect=201)
    robot = story.api("POST", "tokens", {"name": "ci", "principal": "robot"}, expect=201)
    # Refused, and recorded as such.
    story.api("GET", "principals", token=robot["token"], expect=403)
