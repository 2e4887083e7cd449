"""A change comes to a canary first, goes on when that works with it, and stops there when it does not."""

from __future__ import annotations

import pytest

from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, approve, get_plane, put_plane
from tests.integration.registry.agent_configs.publishing.test_publish import (
    ack,
    condition,
    publish,
    served,
    text,
)
from tests.support.api_client import ACTOR


@pytest.fixture
def planes(db):
    """A canary, and two that come after it, which all work with what they have."""
    for name, stage in (("a-late", 2), ("canary", 0), ("main", 1)):
        put_plane(name, DataPlaneSpec(stage=stage), actor=ACTOR)
    settle("canary", "main", "a-late")
    publish("acme", text("acme-sensor", "acme_sensor"))
    settle("canary", "main", "a-late")


def settle(*names: str) -> None:
    for name in names:
        ack(plane=name)


def having(agent: str) -> list[str]:
    return [name for name in ("canary", "main", "a-late") if agent in served(name)]


def gate(name: str) -> str:
    hold = get_plane(name).held
    return hold["reasons"][0]["gate"] if hold else ""


def test_a_change_goes_on_from_stage_to_stage_as_it_is_applied(planes):
    publish("beta", text("beta-sensor", "beta_sensor"))

    assert (having("beta-sensor"), gate("main"), gate("a-late")) == (
        ["canary"],
        "earlier_stage",
        "earlier_stage",
    )
    settle("canary")
    assert (having("beta-sensor"), gate("main")) == (["canary", "main"], "")
    settle("main")
    assert having("beta-sensor") == ["canary", "main", "a-late"]


def test_what_the_canary_rejects_never_reaches_the_others(planes):
    publish("bad", text("bad-sensor", "bad_sensor"))
    assert having("bad-sensor") == ["canary"]

    ack(AckState.REJECTED, plane="canary")

    assert (having("bad-sensor"), having("acme-sensor")) == ([], ["canary", "main", "a-late"])
    assert condition("bad", "Accepted", "main")["reason"] == "Quarantined"
    publish("beta", text("beta-sensor", "beta_sensor"))
    settle("canary", "main", "a-late")
    assert (having("bad-sensor"), having("beta-sensor")) == ([], ["canary", "main", "a-late"])
    publish("bad", text("bad-sensor", "bad_sensor", endpoint="fixed.svc.local:8000"))
    settle("canary", "main")
    assert having("bad-sensor") == ["canary", "main", "a-late"]


def test_a_degraded_or_silent_canary_stops_a_change_until_somebody_approves(planes, settings):
    publish("beta", text("beta-sensor", "beta_sensor"))
    ack(AckState.DEGRADED, plane="canary")

    assert having("beta-sensor") == ["canary"]
    approve("main", get_plane("main").held["digest"], actor=ACTOR)
    assert having("beta-sensor") == ["canary", "main"]
    settings.AGENT_CONFIGS_STAGE_PERCENT = 50
    settle("main")
    assert having("beta-sensor") == ["canary", "main", "a-late"]


def test_a_new_data_plane_is_given_something_at_once(planes):
    publish("beta", text("beta-sensor", "beta_sensor"))

    put_plane("new", DataPlaneSpec(stage=2), actor=ACTOR)

    assert "beta-sensor" in served("new")
