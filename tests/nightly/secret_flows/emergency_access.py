"""Emergency access, opened and closed on the host."""

from __future__ import annotations

from tests.nightly.secret_flows.story import Story
from tests.support.secret_memory import TOKEN


def run(story: Story) -> None:
    output = story.command(
        "break_glass", "--principal", "robot", "--minutes", "5", "--reason", "a fire drill"
    )
    (token,) = TOKEN.findall(output)
    made = story.api("POST", "tokens", {"name": "meanwhile"}, token=token, expect=201)
    story.api("GET", "principals", token=made["token"])
    story.command("break_glass", "--principal", "robot", "--close")
    story.api("GET", "me", token=token, expect=401)
