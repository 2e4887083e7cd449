"""Documents of many teams and what data planes are given: isolation, last known good, blame."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import ProgrammingError, connections, transaction

from controlplane.access.models import AuditRecord
from controlplane.errors import InvalidAgentConfig, LimitReached, UnknownBundle
from controlplane.events.models import Event
from controlplane.preconditions import Precondition
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.claims.grants import Grant
from registry.agent_configs.delivery.acknowledgements import (
    AckError,
    Acknowledgement,
    acknowledge,
    alert_silent_planes,
)
from registry.agent_configs.delivery.data_planes import (
    DataPlaneSpec,
    Format,
    approve,
    get_configuration,
    get_plane,
    put_plane,
)
from registry.agent_configs.documents.published import ClaimKind, DocumentId
from registry.agent_configs.models import (
    AgentConfigBundle,
    AgentConfigQuarantine,
    AgentConfigStatus,
    ClaimRecord,
    DataPlane,
)
from registry.agent_configs.publishing.ownership_transfer import create_grant, release_claim
from registry.agent_configs.publishing.preview import PreviewChange, preview_changes
from registry.agent_configs.publishing.publish import (
    DocumentSpec,
    delete_document,
    get_document,
    put_document,
)
from registry.agent_configs.publishing.quarantine import quarantine, readmit
from registry.agent_configs.publishing.recompute import recompute_all
from registry.tasks import recompute_agent_configs
from tests.support.api_client import ACTOR, ADMINISTRATOR


def text(agent: str, *task_types: str, endpoint: str = "", **settings: str) -> str:
    more = "".join(f"        {name}: {value}\n" for name, value in settings.items())
    types = "".join(f"    - {task_type}\n" for task_type in task_types)
    return (
        "plugins:\n  agent-service:\n    agents:\n"
        f"      {agent}:\n        endpoint: {endpoint or agent + '.svc.cluster.local:8000'}\n{more}"
        f"    supportedTaskTypes:\n{types}"
    )


def name(team: str, document: str = "agents") -> DocumentId:
    return DocumentId("api", team, document)


def publish(team: str, said: str, document: str = "agents", **more):
    return put_document(DocumentSpec(name(team, document), said), actor=ACTOR, **more)[0]


@pytest.fixture
def plane(db) -> str:
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)
    return "eu"


def served(plane: str = "eu") -> str:
    return get_configuration(get_plane(plane), Format.YAML).body


def revision(plane: str = "eu") -> int:
    return get_plane(plane).active_revision


def condition(team: str, type_: str, plane: str = "eu", document: str = "agents") -> dict:
    status = AgentConfigStatus.objects.get(document=get_document(name(team, document)), data_plane=plane)
    (condition,) = (condition for condition in status.conditions if condition["type"] == type_)
    return condition


def ack(state: AckState = AckState.APPLIED, *errors: AckError, plane: str = "eu", at: int = 0):
    acknowledgement = Acknowledgement(at or revision(plane), state, errors=errors)
    return acknowledge(plane, acknowledgement, actor=ACTOR)


def test_a_published_document_is_served_audited_and_told(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))

    assert "acme-sensor.svc.cluster.local:8000" in served()
    assert condition("acme", "Accepted")["status"] == "True"
    assert condition("acme", "Programmed")["status"] == "True"
    assert AuditRecord.objects.filter(action="agent_config.published", object_id="api/acme/agents").exists()
    events = set(Event.objects.values_list("type", flat=True))
    assert {
        "agent_config.published",
        "agent_config_bundle.activated",
        "agent_config.status_changed",
    } <= events


def test_recomputing_again_changes_nothing(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = (revision(), Event.objects.count(), list(ClaimRecord.objects.values()))
    DataPlane.objects.update(inputs_digest="")

    assert recompute_all(ACTOR) == []

    assert (revision(), Event.objects.count(), list(ClaimRecord.objects.values())) == before


def test_an_invalid_document_is_refused_with_every_mistake_and_changes_nothing(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = served()

    with pytest.raises(InvalidAgentConfig) as refused:
        publish("acme", text("Acme", "bad type", insecure='"yes"'))

    assert len(refused.value.errors) >= 3
    assert all(error.line for error in refused.value.errors)
    assert served() == before


def test_one_teams_worst_document_changes_nothing_for_others(plane, settings):
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = (served(), revision())
    hostile = [
        "a: &a [x]\nb: [*a, *a]",
        "[" * 5000,
        "x" * (settings.AGENT_CONFIGS_DOCUMENT_BYTES + 1),
        text("evil", *(f"t{number}" for number in range(20_000))),
        text("evil", "acme_sensor", endpoint="169.254.169.254:80"),
        "plugins: {agent-service: {defaultAgent: {endpoint: evil.svc:1}}}",
        "\x00",
        "",
    ]
    for hostile_text in hostile:
        with pytest.raises(InvalidAgentConfig):
            publish("evil", hostile_text)
        put_document(
            DocumentSpec(DocumentId("folder", "evil", "a.yaml"), hostile_text.replace("\x00", "?")),
            actor=ACTOR,
            reject_invalid=False,
        )

    assert (served(), revision()) == before


def test_limits_and_timeouts_are_those_of_the_settings(plane, settings):
    publish("acme", text("acme-sensor", "acme_sensor"))
    assert 'defaultTimeout: "10s"' in served()
    settings.AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS = 7
    settings.AGENT_CONFIGS_LIST_TIMEOUT_SECONDS = 2
    settings.AGENT_CONFIGS_MISTAKES_TOLD = 1
    settings.AGENT_CONFIGS_GENERATIONS_KEPT = 2
    settings.AGENT_CONFIGS_MAX_FILES = 1

    assert recompute_all(ACTOR) == ["eu"]
    assert 'defaultTimeout: "7s"' in served()
    assert 'ListAgents: "2s"' in served()
    with pytest.raises(InvalidAgentConfig) as refused:
        publish("beta", text("beta-sensor", "a b", "c d"))
    assert (len(refused.value.errors), refused.value.members["omitted"]) == (1, 1)
    two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flyteplugins-agentservice-x}\n"
    with pytest.raises(InvalidAgentConfig, match="maximum is 1"):
        publish("beta", f"{two}data: {{a.yaml: '', b.yaml: ''}}")
    for number in range(3):
        publish("acme", text("acme-sensor", f"acme_{number}"))
    assert get_document(name("acme")).generations.count() == 2


def test_a_team_cannot_publish_without_end(plane, settings):
    settings.AGENT_CONFIGS_DOCUMENTS_PER_TEAM = 2
    publish("acme", text("a", "ta"), "one")
    publish("acme", text("b", "tb"), "two")

    with pytest.raises(LimitReached):
        publish("acme", text("c", "tc"), "three")

    publish("other", text("c", "tc"))


def test_a_fault_in_one_data_plane_leaves_publication_and_other_planes_alone(plane):
    put_plane("us", DataPlaneSpec(), actor=ACTOR)
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = served("eu")
    # Somebody wrote into the database by hand.
    DataPlane.objects.filter(name="eu").update(release="sixteen")

    publish("beta", text("beta-sensor", "beta_sensor"))

    assert "beta-sensor" in served("us")
    assert served("eu") == before
    assert get_plane("eu").held["reasons"][0]["gate"] == "failed"
    assert Event.objects.filter(type="agent_config_bundle.held", object_id="eu").count() == 1


def test_the_winner_goes_and_the_loser_serves_within_the_same_recompute(plane):
    publish("acme", text("acme-sensor", "sensor_x"))
    publish("beta", text("beta-sensor", "sensor_x"))
    assert "beta-sensor" not in served()
    assert condition("beta", "Conflicted")["status"] == "True"
    release_claim("acme", ClaimKind.TASK_TYPE, "sensor_x", actor=ACTOR)

    assert '"sensor_x": "beta-sensor"' in served()
    assert condition("beta", "Conflicted")["status"] == "False"
    assert condition("acme", "Conflicted")["status"] == "True"


def test_a_document_that_is_deleted_and_made_again_keeps_its_seniority(plane):
    publish("acme", text("acme-sensor", "sensor_x"))
    publish("beta", text("beta-sensor", "sensor_x"))
    delete_document(name("acme"), actor=ACTOR)
    assert '"sensor_x": "beta-sensor"' in served()

    again = publish("acme", text("acme-sensor", "sensor_x"))

    assert again.generation == 3
    claims = ClaimRecord.objects.filter(name="sensor_x").order_by("first_accepted_at")
    assert [claim.team for claim in claims] == ["acme", "beta"]


def test_a_grant_outranks_age_and_withdrawn_it_gives_nothing_back(plane):
    publish("acme", text("acme-sensor", "sensor_x"))
    publish("beta", text("beta-sensor", "sensor_x"))

    create_grant(Grant("beta", "sensor_*"), actor=ACTOR)

    assert '"sensor_x": "beta-sensor"' in served()


def test_in_granted_mode_nobody_serves_what_was_not_granted(plane, settings):
    settings.AGENT_CONFIGS_MODE = "granted"
    publish("acme", text("acme-sensor", "acme_sensor"))
    assert "acme-sensor" not in served()
    assert condition("acme", "Accepted")["reason"] == "PartiallyAccepted"
    assert "has no grant" in condition("acme", "Accepted")["message"]

    create_grant(Grant("acme", "acme_*"), actor=ACTOR)

    assert "acme-sensor" in served()


def test_a_removal_of_most_waits_and_is_let_go_by_its_digest_alone(plane):
    for number in range(4):
        publish(f"team{number}", text(f"agent{number}", f"type{number}"))
    before = served()

    put_plane("eu", DataPlaneSpec(teams=("team0",)), actor=ACTOR)

    hold = get_plane("eu").held
    assert hold["reasons"][0]["gate"] == "removes_too_much"
    assert served() == before
    with pytest.raises(UnknownBundle):
        approve("eu", "0" * 64, actor=ACTOR)
    approve("eu", hold["digest"], actor=ACTOR)
    assert "agent3" not in served()
    assert get_plane("eu").held is None


def test_a_manual_quarantine_leaves_a_document_out_until_it_is_readmitted(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))

    quarantine(get_document(name("acme")), "It floods the poll.", actor=ACTOR)

    assert "acme-sensor" not in served()
    accepted = condition("acme", "Accepted")
    assert (accepted["reason"], "It floods the poll." in accepted["message"]) == ("Quarantined", True)
    publish("acme", text("acme-sensor", "acme_sensor", "more"))
    assert "acme-sensor" not in served()
    readmit(get_document(name("acme")), actor=ACTOR)
    assert "more" in served()


def test_a_document_that_flaps_is_kept_as_it_was(plane, settings):
    settings.AGENT_CONFIGS_FLAPS = 3
    for number in range(5):
        publish("acme", text("acme-sensor", f"type{number}"))

    assert "type2" in served()
    assert "type4" not in served()
    assert condition("acme", "Accepted")["reason"] == "Quarantined"
    assert Event.objects.filter(type="agent_config.quarantined").count() == 1


def test_an_applied_bundle_is_told_to_its_authors(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    assert condition("acme", "Applied")["status"] == "Unknown"

    ack()

    assert condition("acme", "Applied")["status"] == "True"


def test_a_new_bundle_tells_nothing_of_documents_that_stayed_as_they_were(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    ack()
    events = Event.objects.filter(type="agent_config.status_changed", object_id="api/acme/agents")
    before = events.count()

    publish("beta", text("beta-sensor", "beta_sensor"))

    assert events.count() == before
    assert condition("acme", "Applied")["status"] == "True"
    assert condition("beta", "Applied")["status"] == "Unknown"


def test_a_rejected_bundle_is_not_sent_again_and_its_only_suspect_is_kept_as_it_was(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    publish("beta", text("beta-sensor", "beta_sensor"))
    ack()
    good = served()
    publish("acme", text("acme-sensor", "acme_sensor", endpoint="broken.svc:8000"))
    bad = revision()

    ack(AckState.REJECTED, AckError("cannot dial broken.svc:8000"))

    assert served() == good
    assert get_plane("eu").rejected == [AgentConfigBundle.objects.get(revision=bad).digest]
    accepted = condition("acme", "Accepted")
    assert accepted["reason"] == "Quarantined"
    assert "cannot dial" in accepted["message"]
    assert condition("beta", "Accepted")["status"] == "True"
    ack(AckState.REJECTED, at=bad)
    assert served() == good
    publish("acme", text("acme-sensor", "acme_sensor", endpoint="mended.svc:8000"))
    assert "mended.svc" in served()


def test_an_error_that_names_an_agent_finds_the_culprit_among_many_at_once(plane, settings):
    ack()
    settings.AGENT_CONFIGS_AT_ONCE = 0
    for team in ("acme", "beta", "gamma"):
        publish(team, text(f"{team}-sensor", f"{team}_sensor"))
    recompute_all(ACTOR)

    ack(AckState.REJECTED, AckError("no", "/plugins/agent-service/agents/beta-sensor/endpoint"))

    assert [
        agent_config_quarantine.document.team
        for agent_config_quarantine in AgentConfigQuarantine.objects.all()
    ] == ["beta"]
    assert "acme-sensor" in served()
    assert "beta-sensor" not in served()


@pytest.mark.parametrize("culprit", range(7))
def test_of_many_suspects_the_culprit_is_found_by_halves_and_nobody_else_goes(plane, settings, culprit):
    for number in range(7):
        publish(f"team{number}", text(f"agent{number}", f"type{number}"))
    ack()
    settings.AGENT_CONFIGS_AT_ONCE = 0
    for number in range(7):
        place = "broken.svc:1" if number == culprit else f"new{number}.svc:1"
        publish(f"team{number}", text(f"agent{number}", f"type{number}", endpoint=place))
    recompute_all(ACTOR)

    for _ in range(12):
        assert all(f'"agent{number}"' in served() for number in range(7))
        if get_plane("eu").applied_revision == revision() and get_plane("eu").trial is None:
            break
        ack(AckState.REJECTED if "broken.svc" in served() else AckState.APPLIED)

    assert [
        agent_config_quarantine.document.team
        for agent_config_quarantine in AgentConfigQuarantine.objects.all()
    ] == [f"team{culprit}"]
    assert all(f"new{number}.svc:1" in served() for number in range(7) if number != culprit)
    assert f"agent{culprit}.svc.cluster.local" in served()


def test_a_data_plane_that_rejects_everything_harms_no_other(plane):
    put_plane("us", DataPlaneSpec(), actor=ACTOR)
    publish("acme", text("acme-sensor", "acme_sensor"))

    ack(AckState.REJECTED)

    assert "acme-sensor" in served("us")
    assert condition("acme", "Accepted", "us")["status"] == "True"
    assert condition("acme", "Accepted", "eu")["status"] == "False"


def test_a_word_about_an_old_bundle_changes_nothing(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    publish("beta", text("beta-sensor", "beta_sensor"))
    before = served()

    ack(AckState.REJECTED, at=revision() - 1)

    assert (served(), get_plane("eu").ack_state) == (before, "")


def test_a_silent_data_plane_is_told_of_once(plane, settings):
    settings.AGENT_CONFIGS_ACK_SECONDS = 1
    publish("acme", text("acme-sensor", "acme_sensor"))
    later = get_plane("eu").activated_at + timedelta(seconds=2)

    assert [alert_silent_planes(now=later), alert_silent_planes(now=later)] == [1, 0]

    assert Event.objects.filter(type="agent_config_bundle.unacknowledged").count() == 1


def test_a_large_fleet_is_recomputed_by_the_task(plane, settings):
    settings.AGENT_CONFIGS_AT_ONCE = 0
    publish("acme", text("acme-sensor", "acme_sensor"))
    publish("beta", text("beta-sensor", "beta_sensor"))
    assert "acme-sensor" not in served()
    before = revision()

    recompute_agent_configs()

    assert "acme-sensor" in served()
    assert revision() == before + 1


def test_a_bundle_can_never_be_changed(plane):
    with pytest.raises(ProgrammingError, match="never changed"), transaction.atomic():
        AgentConfigBundle.objects.update(text="other")


def test_old_bundles_go_and_what_is_in_force_or_applied_stays(plane, settings):
    settings.AGENT_CONFIGS_BUNDLES_KEPT = 2
    ack()
    for number in range(5):
        publish("acme", text("acme-sensor", f"type{number}"))

    agent_config_bundles = AgentConfigBundle.objects.order_by("revision").values_list("revision", flat=True)
    assert list(agent_config_bundles) == [1, 5, 6]


def test_a_preview_equals_what_then_happens(plane):
    publish("acme", text("acme-sensor", "sensor_x"))
    other_text = text("beta-sensor", "sensor_x", "beta_sensor")

    outcome = preview_changes([PreviewChange(name("beta"), other_text)], ADMINISTRATOR).outcomes[0]
    publish("beta", other_text)

    row = AgentConfigBundle.objects.latest("id")
    assert (outcome.digest, list(outcome.changes)) == (row.digest, row.changes)
    reasons = {
        condition.type.value: condition.reason for condition in outcome.statuses[name("beta")].conditions
    }
    assert condition("beta", "Accepted")["reason"] == reasons["Accepted"] == "PartiallyAccepted"


def in_threads(*works) -> list:
    """Run each in a thread of its own, all let go at once; their results, or what they raised."""
    barrier = threading.Barrier(len(works))
    outcomes: list = [None] * len(works)

    def run(number: int) -> None:
        try:
            barrier.wait(60)
            outcomes[number] = works[number]()
        except Exception as error:
            outcomes[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at_once", [200, 0])
def test_two_teams_that_claim_one_type_at_once_get_one_winner_everywhere(settings, at_once):
    settings.AGENT_CONFIGS_AT_ONCE = at_once
    for plane in ("eu", "us"):
        put_plane(plane, DataPlaneSpec(), actor=ACTOR)
    works = [
        lambda team=f"team{number}": publish(team, text(f"{team}-sensor", "sensor_x")) for number in range(6)
    ]

    outcomes = in_threads(*works)
    recompute_all(ACTOR)

    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert served("eu") == served("us")
    assert served("eu").count('"sensor_x": ') == 1
    assert AgentConfigStatus.objects.exclude(conflicts=[]).count() == 2 * 5


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_of_one_generation_one_is_refused():
    publish("acme", text("acme-sensor", "acme_sensor"))
    precondition = Precondition(versions=frozenset({1}))

    outcomes = in_threads(
        *(
            lambda number=number: publish(
                "acme", text("acme-sensor", f"type{number}"), precondition=precondition
            )
            for number in range(4)
        )
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AgentConfig", *["VersionMismatch"] * 3]
    assert get_document(name("acme")).generation == 2
