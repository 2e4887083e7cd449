"""Agent configurations from a cluster: what is published, who owns it, what is never removed, who is told."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import urllib.request
from datetime import datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from controlplane.events.models import Event
from controlplane.local.programs import free_port
from registry.agent_configs.delivery.data_planes import (
    DataPlaneSpec,
    Format,
    get_configuration,
    get_plane,
    put_plane,
)
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig, AgentConfigStatus
from registry.agent_configs.publishing.publish import DocumentSpec, get_document, put_document
from registry.agent_configs.source_models import AgentConfigCluster
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.client import KubernetesCluster
from registry.agent_configs.sources.cluster.synchronise import STANDBY, get_cluster_state, mark_silent_watcher
from registry.agent_configs.sources.cluster.watcher import Watcher
from registry.tasks import recompute_agent_configs
from tests.integration.registry.agent_configs.publishing.test_publish import text
from tests.integration.registry.agent_configs.sources.cluster.test_reflector import PACE
from tests.support.api_client import ACTOR
from tests.support.fake_kubernetes import PREFIX, FakeKubernetes
from tests.support.properties import NIGHTLY, examples
from tests.support.waiting import until

SAMPLE = """\
plugins:
  agent-service:
    agents:
      custom-agent:
        endpoint: custom-agent.acme.svc.cluster.local:8000
        insecure: true
    supportedTaskTypes:
    - custom_sensor
    - customtask
"""
SAMPLE_DEFAULTS = """\
plugins:
  agent-service:
    supportedTaskTypes:
    - custom_sensor
    - customtask
tasks:
  task-plugins:
    default-for-task-types:
      customtask: agent-service
      custom_sensor: agent-service
"""


@pytest.fixture
def cluster(tmp_path, settings):
    fake = FakeKubernetes(tmp_path / "kubeconfig")
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["acme", "beta"]
    settings.AGENT_CONFIGS_KUBERNETES_KUBECONFIG = str(fake.kubeconfig)
    settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = 0
    yield fake
    fake.close()


@pytest.fixture
def plane(db):
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)


@pytest.fixture
def watch(cluster, plane):
    made: list[Watcher] = []

    def start(*namespaces: str, pace: WatchTiming = PACE, **more) -> Watcher:
        names = namespaces or ("acme", "beta")
        reader = KubernetesCluster(str(cluster.kubeconfig), timing=pace)
        made.append(Watcher(reader, names, name=f"watcher-{len(made)}", timing=pace, **{"quiet": 0, **more}))
        made[-1].start()
        return made[-1]

    yield start
    for reflector in made:
        reflector.stop.set()
    cluster.is_down = True
    cluster.cut()
    for reflector in made:
        for thread in reflector.threads:
            thread.join(2)


def published() -> dict[str, str]:
    rows = AgentConfig.objects.filter(source="kubernetes", deleted_at=None)
    return {f"{row.team}/{row.name.removeprefix(PREFIX)}": row.digest for row in rows}


def steps(watcher: Watcher, claim, seconds: float = 5.0) -> None:
    """Look again and again, as the watcher's loop does, until it is so."""

    def looked() -> bool:
        watcher.step()
        return bool(claim())

    until(looked, seconds)


def served() -> str:
    return get_configuration(get_plane("eu"), Format.YAML).body


def row() -> AgentConfigCluster:
    return AgentConfigCluster.objects.get(id=1)


def test_a_config_map_is_a_document_of_the_team_whose_namespace_it_is_in(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    watcher = watch()

    steps(watcher, published)

    document = get_document(DocumentId("kubernetes", "acme", f"{PREFIX}sensors"))
    assert document.changed_by == "system:agent_config_cluster"
    assert document.created_at == datetime.fromisoformat("2026-01-01T00:01:41+00:00")
    assert "acme-sensor" in served()
    assert get_cluster_state() == "current"
    assert row().watcher == "watcher-0"


def test_what_the_text_or_labels_say_of_a_team_changes_no_owner(cluster, watch):
    config_map = cluster.apply("acme", "forged", text("acme-sensor", "acme_sensor"), team="beta")
    config_map["metadata"]["annotations"] = {"team": "beta", "namespace": "beta"}
    config_map["data"]["agents.yaml"] = "namespace: beta\nteam: beta\n" + config_map["data"]["agents.yaml"]
    watcher = watch()

    steps(watcher, published)

    assert {agent_config.team for agent_config in AgentConfig.objects.all()} == {"acme"}


def test_bookkeeping_makes_no_new_generation_and_looking_again_changes_nothing(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    watcher = watch()
    steps(watcher, published)
    before = (AgentConfig.objects.get().generation, Event.objects.count(), get_plane("eu").active_revision)

    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"), touched="again")
    cluster.apply("acme", "other", text("other", "other_type"))
    steps(watcher, lambda: len(published()) == 2)

    assert get_document(DocumentId("kubernetes", "acme", f"{PREFIX}sensors")).generation == before[0]
    after = Event.objects.count()
    watcher.step()
    assert Event.objects.count() == after


def test_a_bad_document_keeps_its_last_good_generation_and_touches_no_other(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    cluster.apply("beta", "sensors", text("beta-sensor", "beta_sensor"))
    watcher = watch()
    steps(watcher, lambda: len(published()) == 2)

    cluster.apply("acme", "sensors", "plugins: [")
    cluster.apply("beta", "sensors", text("beta-sensor", "beta_sensor", "beta_query"))
    steps(watcher, lambda: "beta_query" in served())

    assert "acme-sensor" in served()
    status = AgentConfigStatus.objects.get(document__team="acme")
    conditions = {
        condition["type"]: (condition["status"], condition["reason"]) for condition in status.conditions
    }
    assert conditions["Valid"] == ("False", "InvalidYAML")
    assert conditions["Programmed"] == ("True", "ServingLastGood")


def test_a_cluster_that_is_away_removes_nothing_and_says_so(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    watcher = watch()
    steps(watcher, published)

    with cluster.down():
        steps(watcher, lambda: get_cluster_state() == "failing")
        recompute_agent_configs()
        assert "acme-sensor" in served()
        status = AgentConfigStatus.objects.get(document__team="acme")
        assert [condition["status"] for condition in status.conditions if condition["type"] == "Stale"] == [
            "True"
        ]
        assert "cannot be reached" in row().problems[0]

    steps(watcher, lambda: get_cluster_state() == "current")


def test_a_namespace_that_is_forbidden_keeps_its_documents_while_others_are_followed(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    first = watch("acme")
    steps(first, published)
    first.resign()

    # Another watcher begins, and may not read what the first one could.
    cluster.fail("list", times=1000, status=403)
    blind = watch("acme")
    steps(blind, lambda: get_cluster_state() == "failing")

    assert published().keys() == {"acme/sensors"}
    assert "403" in row().problems[0]
    cluster.heal()
    steps(blind, lambda: get_cluster_state() == "current")


def test_one_config_map_that_goes_takes_its_document_with_it(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    cluster.apply("beta", "sensors", text("beta-sensor", "beta_sensor"))
    watcher = watch()
    steps(watcher, lambda: len(published()) == 2)

    cluster.delete("acme", "sensors")
    steps(watcher, lambda: len(published()) == 1)

    assert "acme-sensor" not in served()
    assert "beta-sensor" in served()


def test_a_mass_deletion_waits_for_a_confirmation_of_what_would_go(cluster, watch):
    for number in range(4):
        cluster.apply("acme", f"n{number}", text(f"agent{number}", f"type{number}"))
    watcher = watch(quiet=0.3)
    steps(watcher, lambda: len(published()) == 4)

    # One by one, and looked at in between: each alone would be few enough.
    for number in range(4):
        cluster.delete("acme", f"n{number}")
        left = 3 - number
        until(lambda left=left: len(watcher.cache.snapshot().config_maps) == left)
        watcher.step()
    steps(watcher, lambda: get_cluster_state() == "awaiting_confirmation")

    assert len(published()) == 4
    assert len(row().pending["documents"]) == 4
    call_command("watch_agent_configs", confirm=row().pending["digest"])
    steps(watcher, lambda: not published())
    assert get_cluster_state() == "current"


def test_a_config_map_that_is_deleted_and_made_again_in_a_moment_never_goes(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    watcher = watch(quiet=60)
    steps(watcher, published)

    cluster.delete("acme", "sensors")
    until(lambda: not watcher.cache.snapshot().config_maps)
    watcher.step()
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    until(lambda: watcher.cache.snapshot().config_maps)
    watcher.step()

    assert AgentConfig.objects.get().generation == 1


def test_the_rfcs_samples_make_one_configuration_once_they_are_legal(cluster, watch):
    cluster.apply("acme", "config-xxx", SAMPLE)
    cluster.apply("acme", "enabled-plugins-xxx", SAMPLE_DEFAULTS)
    watcher = watch()

    steps(watcher, lambda: len(published()) == 2)

    assert set(AgentConfig.objects.values_list("is_valid", flat=True)) == {True}
    assert '"customtask": "custom-agent"' in served()
    assert '"custom_sensor": "custom-agent"' in served()


def test_hostile_documents_keep_no_other_from_being_read(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    cluster.apply("acme", "zero", "a: \x00\ud800")
    cluster.apply("acme", "bomb", "a: &a [1]\nb: [*a, *a]")
    binary = cluster.apply("acme", "binary", "x")
    binary["binaryData"] = {"x.yaml": "AAAA"}
    cluster.apply("acme", "no-data", "x").pop("data")
    cluster.objects["acme", "typed"] = {
        **binary,
        "data": [1],
        "metadata": {**binary["metadata"], "name": PREFIX + "t"},
    }
    watcher = watch()

    steps(watcher, lambda: "acme-sensor" in served())

    assert list(AgentConfig.objects.filter(is_valid=True).values_list("name", flat=True)) == [
        f"{PREFIX}sensors"
    ]


class Elsewhere:
    """A watcher as another process runs it: in a thread, and so on a connection, of its own."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.watcher.run()
        finally:
            connection.close()

    def end(self) -> None:
        self.watcher.halt()
        self.thread.join(60)


@pytest.mark.django_db(transaction=True)
def test_of_two_watchers_one_writes_and_the_other_takes_over_when_it_is_gone(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    first = Elsewhere(watch())
    try:
        until(published)
        second = watch()
        until(lambda: second.cache.snapshot().is_complete)
        assert [second.step() for _ in range(5)] == [STANDBY] * 5
        assert row().watcher == "watcher-0"
        until(lambda: first.watcher.health.is_ready)
    finally:
        first.end()
    cluster.apply("acme", "more", text("more-agent", "more"))

    steps(second, lambda: len(published()) == 2)
    assert row().watcher == "watcher-1"


@pytest.mark.django_db(transaction=True)
def test_a_watcher_whose_connection_breaks_comes_back_and_writes_on(cluster, watch):
    watcher = watch()
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    steps(watcher, published)

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (victim,) = cursor.fetchone()
    other = threading.Thread(target=_terminate, args=(victim,))
    other.start()
    other.join()
    cluster.apply("acme", "more", text("more-agent", "more"))

    assert watcher.step() == "offline"
    steps(watcher, lambda: row().counts.get("config_maps") == 2)
    assert len(published()) == 2


def _terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    connection.close()


NAMES = st.sampled_from(["a", "b", "c"])
SPACES = st.sampled_from(["acme", "beta"])
WORDS = st.sampled_from(["plugins: [", text("x", "x"), text("y", "y", "z")])
HAPPENS = st.one_of(
    st.tuples(st.just("apply"), SPACES, NAMES, WORDS),
    st.tuples(st.just("delete"), SPACES, NAMES),
    st.tuples(st.sampled_from(["cut", "compact", "touch"])),
    st.tuples(
        st.just("fail"),
        st.sampled_from(["list", "watch"]),
        st.sampled_from(
            [{"status": 410}, {"status": 403}, {"status": 500}, {"items": []}, {"raw": b"<html>\n"}]
        ),
    ),
    st.tuples(st.just("look")),
)


def test_once_it_is_quiet_the_stored_set_is_the_clusters_whatever_happened(cluster, watch, settings):
    settings.AGENT_CONFIGS_REMOVAL_COUNT = 1000
    settings.AGENT_CONFIGS_FLAPS = 1_000_000
    watcher = watch(events=False)

    def stored() -> dict[tuple[str, str], str]:
        rows = AgentConfig.objects.filter(source="kubernetes", deleted_at=None)
        return {(row.team, row.name): json.loads(row.text)["data"]["agents.yaml"] for row in rows}

    def expected_texts() -> dict[tuple[str, str], str]:
        return {name: manifest["data"]["agents.yaml"] for name, manifest in cluster.objects.items()}

    @hypothesis_settings(examples(15, nightly=300), derandomize=not NIGHTLY, database=None)
    @given(st.lists(HAPPENS, max_size=15))
    def whatever(happened) -> None:
        for what, *how in happened:
            if what == "fail":
                cluster.fail(how[0], **how[1])
            elif what == "look":
                watcher.step()
            else:
                getattr(cluster, what)(*how)
        cluster.heal()
        steps(watcher, lambda: stored() == expected_texts() and not row().problems, seconds=10)

    whatever()


def test_a_silent_watcher_is_told_and_nothing_goes(cluster, watch):
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    watcher = watch()
    steps(watcher, published)

    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_agentconfigcluster SET checked_at = now() - interval '61 seconds'")
    mark_silent_watcher()

    assert get_cluster_state() == "failing"
    assert "No watcher has reported" in row().problems[0]
    assert "acme-sensor" in served()
    watcher.step()
    assert get_cluster_state() == "current"


def test_authors_are_told_once_by_events_what_became_of_their_config_map(cluster, watch):
    put_document(DocumentSpec(DocumentId("api", "first", "a"), text("first-agent", "taken")), actor=ACTOR)
    cluster.apply("acme", "good", text("acme-sensor", "acme_sensor"))
    cluster.apply("acme", "bad", "plugins: [")
    cluster.apply("beta", "rival", text("beta-sensor", "taken"))
    watcher = watch()

    steps(watcher, lambda: len(cluster.events) == 3)

    events = {event["regarding"]["name"].removeprefix(PREFIX): event for event in cluster.events.values()}
    assert events["good"]["reason"] == "Accepted"
    assert events["bad"]["type"] == "Warning"
    assert events["bad"]["reason"] == "InvalidConfiguration"
    assert "agents.yaml 2:1" in events["bad"]["note"]
    assert events["rival"]["reason"] == "Conflicted"
    assert "taken" in events["rival"]["note"]
    assert events["rival"]["regarding"]["uid"].startswith("uid-")
    event_count = cluster.count("event")
    cluster.apply("acme", "more", text("more-agent", "more"))
    steps(watcher, lambda: len(cluster.events) == 4)
    assert cluster.count("event") == event_count + 1


def test_a_watcher_that_starts_again_counts_on_the_event_that_is_there(cluster, watch):
    cluster.apply("acme", "good", text("acme-sensor", "acme_sensor"))
    first = watch()
    steps(first, lambda: cluster.events)
    first.resign()

    steps(watch(), lambda: next(iter(cluster.events.values())).get("series"))

    assert len(cluster.events) == 1
    assert next(iter(cluster.events.values()))["series"]["count"] == 2


def test_events_that_cannot_be_written_keep_nothing_from_being_published(cluster, watch):
    cluster.fail("event", times=1000, status=403)
    cluster.apply("acme", "good", text("acme-sensor", "acme_sensor"))
    watcher = watch()

    steps(watcher, lambda: watcher.cache.snapshot().counts.get("events_failed"))

    assert "acme-sensor" in served()
    assert get_cluster_state() == "current"


def test_the_command_lists_once_and_says_what_is_wrong(cluster, plane, settings, capsys, monkeypatch):
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["acme"]
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))

    call_command("watch_agent_configs", once=True)

    assert "was loaded" in capsys.readouterr().out
    assert published().keys() == {"acme/sensors"}
    assert [event["reason"] for event in cluster.events.values()] == ["Accepted"]
    cluster.fail("list", times=1000, status=403)
    with pytest.raises(CommandError, match="failing"):
        call_command("watch_agent_configs", once=True)
    assert "403" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(CommandError, match="extra `kubernetes` is not installed"):
        call_command("watch_agent_configs", once=True)
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = []
    with pytest.raises(CommandError, match="NAMESPACES is empty"):
        call_command("watch_agent_configs", once=True)


def test_the_command_follows_until_it_is_told_to_stop(cluster, plane, settings):
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["acme"]
    settings.AGENT_CONFIGS_KUBERNETES_PROBE_PORT = port = free_port()
    cluster.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    answers: list[int] = []

    def stop_when_ready() -> None:
        try:
            until(lambda: _ready(port))
            answers.append(200)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    stopper = threading.Thread(target=stop_when_ready)
    try:
        signal.signal(signal.SIGTERM, lambda *_: None)
        stopper.start()
        call_command("watch_agent_configs")
        stopper.join()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    assert answers == [200]
    assert published().keys() == {"acme/sensors"}


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False
