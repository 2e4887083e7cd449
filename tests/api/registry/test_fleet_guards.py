"""Fleet guards in the API: what they count."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from registry.agents.models import Agent
from registry.agents.states import State
from registry.agents.transitions import move
from registry.environments.models import Environment
from tests.support.api_client import AGENT, Api


def guards(api: Api) -> dict[str, tuple[bool, int, int]]:
    items = api.get("fleet-guards").json()["items"]
    return {item["environment"]: (item["engaged"], item["silent"], item["agents"]) for item in items}


def test_a_guard_that_is_not_engaged_counts_the_agents_that_are_there(api):
    for name in ("a1", "a2", "a3"):
        agent = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        assert api.post("agents", agent).status_code == 201
    with transaction.atomic():
        move(Agent.objects.get(name="a1"), State.UNAVAILABLE, reason="Silent.", actor="sweep")
        move(Agent.objects.get(name="a2"), State.RETIRED, reason="Left.", actor="sweep")

    assert guards(api) == {"prod": (False, 1, 2), "": (False, 1, 2)}


def test_an_engaged_guard_shows_what_it_judged(api):
    api.post("agents", AGENT)
    Environment.objects.filter(name="prod").update(
        guard_engaged_at=Now(), guard_due_count=7, guard_agent_count=9
    )

    assert guards(api)["prod"] == (True, 7, 9)
    ruled = api.post("fleet-guards:overrule", {"environment": "prod", "ruling": "lift"}).json()
    assert (ruled["engaged"], ruled["silent"], ruled["agents"]) == (False, 0, 1)
