"""A team's mistake reaches no other team: its own change waits, and everybody else's takes effect."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F

from controlplane.database.locks import lock_publishing
from controlplane.errors import LimitReached, TooManyAttempts, UnknownBundle
from controlplane.events.models import Event
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.claims.grants import Grant
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, approve, get_plane, put_plane
from registry.agent_configs.models import AgentConfig, DataPlane
from registry.agent_configs.part_models import AgentConfigPace, AgentConfigPart
from registry.agent_configs.publishing.ownership_transfer import create_grant
from registry.agent_configs.publishing.preview import PreviewChange, preview_changes
from registry.agent_configs.publishing.publish import delete_document, delete_tombstones
from registry.agent_configs.publishing.quarantine import quarantine, readmit
from registry.agent_configs.publishing.recompute import recompute_all
from tests.integration.registry.agent_configs.publishing.test_publish import (
    ack,
    condition,
    name,
    publish,
    revision,
    served,
    text,
)
from tests.support.api_client import ACTOR, ADMINISTRATOR


@pytest.fixture
def plane(db) -> str:
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)
    return "eu"


def gates_of(team: str, plane: str = "eu") -> list[str]:
    row = AgentConfigPart.objects.filter(data_plane=plane, team=team).exclude(held=None).first()
    return [reason["gate"] for reason in row.held["reasons"]] if row else []


def crowd(team: str, agents: int, document: str = "agents") -> str:
    """One document with many agents."""
    large_text = "plugins:\n  agent-service:\n    agents:\n"
    routes = "    agentForTaskTypes:\n"
    for number in range(agents):
        agent = f"{team}-{document}-{number}"
        large_text += f"      {agent}:\n        endpoint: {document}{number}.{team}.svc:8000\n"
        routes += f"    - {team}.{document}.{number}: {agent}\n"
    return large_text + routes


def publish_many(team: str, count: int) -> None:
    for number in range(count):
        publish(team, text(f"{team}-{number}", f"{team}_{number}"), f"d{number}")


def delete_many(team: str, count: int) -> None:
    for number in range(count):
        delete_document(name(team, f"d{number}"), actor=ACTOR)


def test_a_team_that_deletes_its_agents_holds_its_own_part_alone(plane, settings):
    settings.AGENT_CONFIGS_AT_ONCE = 0
    publish_many("acme", 60)
    publish("beta", text("beta-sensor", "beta_sensor"))
    recompute_all(ACTOR)
    delete_many("acme", 60)
    publish("beta", text("beta-sensor", "beta_sensor", "beta_query"))

    recompute_all(ACTOR)

    assert "beta_query" in served()
    assert served().count("acme-") >= 60
    assert (gates_of("acme"), gates_of("beta")) == (["removes_too_much", "removes_too_much"], [])
    assert get_plane("eu").held is None
    assert condition("beta", "Programmed")["reason"] == "Programmed"
    event = Event.objects.get(type="agent_config_part.held")
    assert (event.object_id, "60 of 60 agents" in event.data["message"]) == ("acme", True)


def test_a_held_removal_is_let_go_by_its_digest_and_only_it(plane):
    publish("acme", crowd("acme", 6))
    publish("beta", crowd("beta", 6))
    publish("acme", crowd("acme", 1))
    publish("beta", crowd("beta", 2))
    digest = AgentConfigPart.objects.get(team="acme").held["digest"]

    with pytest.raises(UnknownBundle):
        approve("eu", "0" * 64, actor=ACTOR)
    approve("eu", digest, actor=ACTOR)

    assert "agents5.acme.svc" not in served()
    assert "agents5.beta.svc" in served()
    assert (gates_of("acme"), gates_of("beta")) == ([], ["removes_too_much", "removes_too_much"])


def test_authors_read_why_their_document_waits(plane):
    publish("acme", crowd("acme", 6))

    publish("acme", crowd("acme", 1))

    told = condition("acme", "Programmed")
    assert (told["status"], told["reason"], told["observed_generation"]) == ("True", "Held", 1)
    assert "5 of 6 agents would be removed" in told["message"]
    assert "Generation 1 stays active" in told["message"]
    assert condition("acme", "Accepted")["reason"] == "Held"


def test_a_held_change_that_is_taken_back_is_held_no_more(plane):
    publish("acme", crowd("acme", 6))
    publish("acme", crowd("acme", 1))
    assert gates_of("acme")

    publish("acme", crowd("acme", 5))

    assert gates_of("acme") == []
    assert "agents5.acme.svc" not in served()
    assert condition("acme", "Programmed")["reason"] == "Programmed"


def test_what_is_held_is_served_on_after_many_generations_and_after_deletion(plane, settings):
    settings.AGENT_CONFIGS_GENERATIONS_KEPT = 2
    settings.AGENT_CONFIGS_FLAPS = 1000
    publish("acme", crowd("acme", 6))
    before = served()
    for number in range(1, 5):
        publish("acme", crowd("acme", 1 + number % 2))
    delete_document(name("acme"), actor=ACTOR)
    AgentConfig.objects.update(deleted_at=F("deleted_at") - timedelta(days=3))
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]

    delete_tombstones(now=now)
    DataPlane.objects.update(inputs_digest="")
    recompute_all(ACTOR)

    assert served() == before
    assert gates_of("acme") == ["removes_too_much", "removes_too_much"]


def test_agents_above_the_quota_are_held_and_nobody_elses(plane, settings):
    settings.AGENT_CONFIGS_TEAM_AGENTS = 5
    publish("acme", crowd("acme", 6))
    publish("beta", text("beta-sensor", "beta_sensor"))

    assert (gates_of("acme"), "acme" in served(), "beta-sensor" in served()) == (
        ["too_many_agents"],
        False,
        True,
    )
    assert condition("acme", "Programmed")["status"] == "False"
    assert "No generation is active" in condition("acme", "Programmed")["message"]
    publish("acme", crowd("acme", 5))
    assert gates_of("acme") == []


def test_a_team_from_before_the_quota_may_shrink_and_not_grow(plane, settings):
    publish("acme", crowd("acme", 8))
    settings.AGENT_CONFIGS_TEAM_AGENTS = 5

    publish("acme", crowd("acme", 7))
    assert gates_of("acme") == []
    publish("acme", crowd("acme", 9))

    assert gates_of("acme") == ["too_many_agents"]
    assert "agents6.acme.svc" in served()


def test_large_parts_are_held_and_a_full_data_plane_keeps_no_small_team_out(plane, settings):
    settings.AGENT_CONFIGS_BUNDLE_BYTES = 4000
    publish("acme", crowd("acme", 20))
    assert gates_of("acme") == []
    publish("acme", crowd("acme", 20), "more")
    publish("other", text("other-sensor", "other_sensor"))
    publish("acme", crowd("acme", 20, "more"), "more")

    publish("beta", text("beta-sensor", "beta_sensor"))

    assert gates_of("acme") == ["too_large"]
    assert gates_of("beta") == []
    assert "beta-sensor" in served()
    settings.AGENT_CONFIGS_TEAM_BYTES = 5000
    publish("gamma", crowd("gamma", 40))
    assert "too_large" in gates_of("gamma")


def test_the_texts_of_a_team_have_a_limit_that_is_told_when_it_publishes(plane, settings):
    settings.AGENT_CONFIGS_TEAM_BYTES = 2000
    publish("acme", crowd("acme", 5))

    with pytest.raises(LimitReached, match="acme would have"):
        publish("acme", crowd("acme", 20, "more"), "more")

    publish("beta", crowd("beta", 5))
    publish("acme", crowd("acme", 4))


def test_a_team_in_a_loop_is_refused_before_it_takes_a_lock(plane, settings):
    settings.AGENT_CONFIGS_TEAM_CHANGES = 3
    for number in range(3):
        publish("acme", text("acme-sensor", f"type{number}"))

    with pytest.raises(TooManyAttempts) as refused:
        publish("acme", text("acme-sensor", "type9"))

    assert 0 < refused.value.members["retry_after"] <= 200
    with pytest.raises(TooManyAttempts):
        delete_document(name("acme"), actor=ACTOR)
    # What changes nothing costs nothing.
    publish("beta", text("beta-sensor", "beta_sensor"))
    AgentConfigPace.objects.update(at=F("at") - timedelta(seconds=201))
    publish("acme", text("acme-sensor", "type9"))


def test_a_busy_team_waits_for_the_next_look_and_others_take_effect_at_once(plane, settings):
    settings.AGENT_CONFIGS_FLAPS = 1000
    for number in range(25):
        publish("acme", text("acme-sensor", f"type{number}"))

    assert "type24" not in served()
    recompute_all(ACTOR)
    assert "type24" in served()
    publish("beta", text("beta-sensor", "beta_sensor"))
    assert "beta-sensor" in served()


def test_approvals_are_for_each_team(plane, settings):
    publish("acme", text("acme-sensor", "acme_sensor"))
    publish("beta", text("beta-sensor", "beta_sensor"))
    settings.AGENT_CONFIGS_APPROVAL_REQUIRED = True
    publish("acme", text("acme-sensor", "acme_2"))
    publish("beta", text("beta-sensor", "beta_2"))
    assert (gates_of("acme"), gates_of("beta")) == (["needs_approval"], ["needs_approval"])
    digest = AgentConfigPart.objects.get(team="beta").held["digest"]
    publish("acme", text("acme-sensor", "acme_3"))

    approve("eu", digest, actor=ACTOR)

    assert ("beta_2" in served(), "acme_3" in served(), gates_of("beta")) == (True, False, [])
    put_plane("eu", DataPlaneSpec(platform={"pollInterval": "20s"}), actor=ACTOR)
    assert get_plane("eu").held["reasons"][0]["gate"] == "needs_approval"


def test_a_quarantine_is_no_removal_that_waits(plane):
    publish("acme", crowd("acme", 6))
    publish("beta", text("beta-sensor", "beta_sensor"))
    quarantine(AgentConfig.objects.get(team="acme"), "It floods the poll.", actor=ACTOR)

    assert "acme.svc" not in served()
    assert (gates_of("acme"), get_plane("eu").held) == ([], None)
    readmit(AgentConfig.objects.get(team="acme"), actor=ACTOR)
    assert "acme.svc" in served()


def test_an_operators_mass_removal_still_holds_everything(plane, settings):
    for team in ("acme", "beta", "gamma", "delta"):
        publish(team, text(f"{team}-sensor", f"{team}_sensor"))
    before = served()

    settings.AGENT_CONFIGS_MODE = "granted"
    recompute_all(ACTOR)

    assert get_plane("eu").held["reasons"][0]["gate"] == "removes_too_much"
    assert served() == before
    publish("beta", text("beta-sensor", "beta_sensor", "beta_query"))
    assert condition("beta", "Programmed")["reason"] == "Pending"
    for team in ("acme", "beta", "gamma", "delta"):
        create_grant(Grant(team, f"{team}_*"), actor=ACTOR)
    assert "beta_query" in served()


def test_a_document_that_waits_with_the_whole_says_so(plane):
    put_plane("late", DataPlaneSpec(stage=1), actor=ACTOR)
    ack()
    publish("acme", text("acme-sensor", "acme_sensor"))
    ack()
    ack(plane="late")
    publish("acme", text("acme-sensor", "acme_sensor", "acme_query"))

    programmed = condition("acme", "Programmed", "late")

    assert (programmed["reason"], "eu" in programmed["message"]) == ("Held", True)


def test_a_culprit_is_searched_while_another_team_is_held(plane):
    publish("acme", crowd("acme", 6))
    publish("beta", text("beta-sensor", "beta_sensor"))
    ack()
    publish("acme", crowd("acme", 1))
    publish("beta", text("beta-sensor", "beta_sensor", endpoint="broken.svc:8000"))

    ack(AckState.REJECTED)

    assert condition("beta", "Accepted")["reason"] == "Quarantined"
    assert "agents5.acme.svc" in served()
    assert gates_of("acme")


def test_a_preview_tells_its_own_team_that_it_would_be_held(plane):
    publish("acme", crowd("acme", 6))

    (outcome,) = preview_changes([PreviewChange(name("acme"), None)], ADMINISTRATOR).outcomes
    (other,) = preview_changes(
        [PreviewChange(name("beta"), text("beta-sensor", "beta_sensor"))], ADMINISTRATOR
    ).outcomes

    assert [hold.gate.value for hold in outcome.holds] == ["removes_too_much", "removes_too_much"]
    assert other.holds == ()


def test_bundles_from_before_parts_were_remembered_are_guarded_as_well(plane):
    publish("acme", crowd("acme", 6))
    AgentConfigPart.objects.all().delete()

    publish("acme", crowd("acme", 1))

    assert gates_of("acme") == ["removes_too_much", "removes_too_much"]
    assert "agents5.acme.svc" in served()


def test_recomputing_again_leaves_what_is_held_as_it_is(plane):
    publish("acme", crowd("acme", 6))
    publish("acme", crowd("acme", 1))
    before = (revision(), Event.objects.count(), list(AgentConfigPart.objects.values()))
    DataPlane.objects.update(inputs_digest="")

    assert recompute_all(ACTOR) == []

    assert (revision(), Event.objects.count(), list(AgentConfigPart.objects.values())) == before


@pytest.mark.django_db(transaction=True)
def test_a_publication_does_not_wait_for_the_recompute_of_another_team():
    """Whoever holds the lock may take long: what is stored meanwhile takes effect with the next look."""
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)
    generations = []

    def publish_beta():
        try:
            generations.append(publish("beta", text("beta-sensor", "beta_sensor")).generation)
        finally:
            connection.close()

    with transaction.atomic():
        lock_publishing()
        thread = threading.Thread(target=publish_beta)
        thread.start()
        thread.join(60)
        assert generations == [1]

    assert "beta-sensor" not in served()
    recompute_all(ACTOR)
    assert "beta-sensor" in served()
