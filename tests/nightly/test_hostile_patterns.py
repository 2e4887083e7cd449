"""The same as in the everyday suite, with the bound in seconds: every answer comes within two."""

from __future__ import annotations

from tests.support.api_client import make_project, token_for
from tests.support.hostile_patterns import Caller, play, working


def test_every_answer_comes_within_two_seconds(live):
    make_project()
    attacker, neighbour = (Caller(live.port, token_for("admin")) for _ in range(2))
    calls = [
        ("GET", "/livez", None),
        ("GET", "/api/v1/overrides/effective?project=flytesnacks&domain=production", None),
    ]

    with working(neighbour, calls):
        play(attacker)

    assert max(seconds for _, _, seconds in [*attacker.answers, *neighbour.answers]) < 2
    assert {status for status, _, _ in neighbour.answers} == {200}
