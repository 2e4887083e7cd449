"""A collector in this process, between a fake cluster and our API with all of its middleware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controlplane.identity.roles import Role
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, put_plane
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.cluster.client import KubernetesCluster
from registry.agent_configs.sources.collector.client import ReportFailed
from registry.agent_configs.sources.collector.collector import Collector
from tests.api.registry.agent_configs.test_registered_clusters import published, register
from tests.integration.registry.agent_configs.publishing.test_publish import text
from tests.integration.registry.agent_configs.sources.cluster.test_reflector import PACE
from tests.support.api_client import ACTOR, Api, token_for
from tests.support.fake_kubernetes import FakeKubernetes
from tests.support.waiting import until


class InProcess:
    """Reports by the test client. is_away: the control plane cannot be reached."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.is_away = False
        self.texts: list[list[str]] = []

    def report(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if self.is_away:
            raise ReportFailed("the control plane cannot be reached")
        self.texts.append([each["name"] for each in body["texts"]])
        answer = self.api.post("agent-config-clusters/eu:report", dict(body))
        if answer.status_code != 200:
            raise ReportFailed(answer.json()["detail"], status=answer.status_code)
        return answer.json()


@pytest.fixture
def fake(tmp_path, settings):
    settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = 0
    fake = FakeKubernetes(tmp_path / "kubeconfig")
    yield fake
    fake.close()


@pytest.fixture
def reports(db) -> InProcess:
    put_plane("plane", DataPlaneSpec(), actor=ACTOR)
    return InProcess(register(Api(token_for(Role.ADMIN)), "eu"))


@pytest.fixture
def collector(fake, reports):
    reader = KubernetesCluster(str(fake.kubeconfig), timing=PACE)
    collector = Collector(reader, ["acme", "beta"], reports, name="collector-0", timing=PACE)
    collector.start()
    yield collector
    collector.halt()
    fake.is_down = True
    fake.cut()
    for thread in collector.threads:
        thread.join(2)


def steps(collector: Collector, claim) -> None:
    def is_so() -> bool:
        collector.step()
        return bool(claim())

    until(is_so, 5.0)


def test_what_the_cluster_has_is_published_and_authors_are_told(fake, collector):
    fake.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    fake.apply("acme", "broken", "plugins: [")
    steps(collector, lambda: len(fake.events) == 2)
    assert published() == {"acme/sensors", "acme/broken"}
    events = {event["regarding"]["name"][-7:]: event["reason"] for event in fake.events.values()}
    assert events == {"sensors": "Accepted", "-broken": "InvalidConfiguration"}

    fake.delete("acme", "broken")
    steps(collector, lambda: published() == {"acme/sensors"})


def test_while_the_control_plane_is_away_nothing_is_lost(fake, collector, reports):
    fake.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    steps(collector, published)
    reports.is_away = True
    assert collector.step() == "offline"
    first = collector._pause
    fake.apply("acme", "more", text("more", "more_type"))
    assert collector.step() == "offline"
    assert first > 0
    assert collector.failures == 2
    reports.is_away = False
    steps(collector, lambda: published() == {"acme/sensors", "acme/more"})
    assert collector.failures == 0


def test_texts_are_sent_once_and_one_that_is_refused_stops_no_other(fake, collector, reports, settings):
    settings.MAX_BUNDLE_BYTES = 20_000
    fake.apply("acme", "huge", "#" * 30_000)
    fake.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    fake.apply("beta", "sensors", text("beta", "beta_type"))
    steps(collector, lambda: published() == {"acme/sensors", "beta/sensors"})
    count = len([texts for texts in reports.texts if texts])
    collector.step()
    assert len([texts for texts in reports.texts if texts]) == count


def test_a_namespace_that_cannot_be_read_keeps_its_documents(fake, collector):
    fake.apply("acme", "sensors", text("acme-sensor", "acme_sensor"))
    steps(collector, published)
    with fake.down():
        steps(collector, lambda: not RegisteredCluster.objects.get().is_synced)
        assert published() == {"acme/sensors"}
    steps(collector, lambda: RegisteredCluster.objects.get().is_synced)
    assert AgentConfig.objects.get().generation == 1
