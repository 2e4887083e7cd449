"""Agents: join tokens, the tokens that agents get for them, and registrations with these."""

from __future__ import annotations

from tests.nightly.secret_flows.story import Story
from tests.support.api_client import AGENT


def run(story: Story) -> None:
    body = {"name": "fleet", "name_pattern": "a*", "uses": 2, "expires_in_seconds": 3600}
    join = story.api("POST", "join-tokens", body, expect=201)
    joined = story.api("POST", "agents:join", AGENT, token=join["token"], expect=201)
    story.api("POST", "agents", {**AGENT, "capacity": 3}, token=joined["token"])
    story.api("POST", "agents:join", AGENT, token=join["token"][:-1] + "x", expect=401)
    form = {"name": "by hand", "name_pattern": "b*", "uses": "1", "hours": "1"}
    created = story.submit(story.browser, "/join-tokens", form)
    assert created.status_code == 200, created.text[:500]
    story.remember_tokens("a join token in the console", created.text)
