"""Who may log in at NATS, and to which subjects."""

from __future__ import annotations

from uuid import UUID

import pytest

from registry.agents.states import State
from registry.dispatch.nats_logins.decide import LoginFacts, Verdict, consumers_of, judge, permissions

ID = UUID("019a9f5e-7c00-7000-8000-000000000001")


def facts(state: State = State.READY, topic: str = "dcm.agent.alpha", is_current: bool = True) -> LoginFacts:
    return LoginFacts(ID, "alpha", state, topic, ID, is_current, True)


@pytest.mark.parametrize(
    ("user", "known", "verdict"),
    [
        (str(ID), facts(), Verdict.ACCEPTED),
        ("alpha", facts(), Verdict.ACCEPTED),
        ("beta", facts(), Verdict.UNKNOWN),
        ("alpha", None, Verdict.UNKNOWN),
        ("alpha", facts(is_current=False), Verdict.REVOKED),
        ("alpha", facts(State.REGISTERED), Verdict.WAITING),
        ("alpha", facts(State.RETIRED), Verdict.RETIRED),
        # A login does not depend on heartbeats: NATS may be reachable when HTTP is not.
        ("alpha", facts(State.UNAVAILABLE), Verdict.ACCEPTED),
        ("alpha", facts(State.DRAINING), Verdict.ACCEPTED),
        ("alpha", facts(topic="dcm.agent.>"), Verdict.BAD_TOPIC),
    ],
)
def test_the_verdict(user: str, known: LoginFacts | None, verdict: Verdict) -> None:
    assert judge(user, known) is verdict


@pytest.mark.parametrize(
    "topic",
    [
        "dcm.agent.>",
        "dcm.agent.*",
        "dcm.agent.a.b",
        "dcm.agent.",
        "x.a",
        "dcm.agent.a-cancel",
        "dcm.agent.a\n",
    ],
)
def test_a_topic_that_could_mean_another_agents_is_not_used(topic: str) -> None:
    assert consumers_of(topic) is None


def test_no_permission_has_a_wildcard_beyond_the_agents_own() -> None:
    consumers = consumers_of("dcm.agent.alpha")
    assert consumers is not None
    allowed = permissions(ID, consumers)
    assert allowed.subscribe == (f"_INBOX_{ID}.>",)
    assert all("alpha-" in subject or str(ID) in subject for subject in allowed.publish)
    assert not any(
        "*" in subject or "CREATE" in subject or "STREAM" in subject for subject in allowed.publish
    )
