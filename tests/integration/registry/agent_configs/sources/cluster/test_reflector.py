"""What is known of a cluster, whatever its API server does: real HTTP, the official client, and faults."""

from __future__ import annotations

import json
import threading
import time

import pytest

from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.cache import ConfigMapCache
from registry.agent_configs.sources.cluster.client import KubernetesCluster
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE, ClusterError
from registry.agent_configs.sources.cluster.reflector import Reflector
from tests.support.fake_kubernetes import PREFIX, FakeKubernetes
from tests.support.waiting import until

PACE = WatchTiming(
    initial_delay=0.01,
    max_delay=0.05,
    relist_interval=300,
    empty_list_delay=0.01,
    watch_seconds=60,
    connect_timeout=1,
    response_timeout=1,
)


@pytest.fixture
def cluster(tmp_path):
    fake = FakeKubernetes(tmp_path / "kubeconfig")
    yield fake
    fake.close()


class Followed:
    def __init__(self, cluster: FakeKubernetes, namespace: str = "acme", selector: str = "", **pace) -> None:
        self.cluster = cluster
        self.view = ConfigMapCache([namespace])
        self.stop = threading.Event()
        watch_timing = WatchTiming(**{**{name: getattr(PACE, name) for name in PACE.__slots__}, **pace})
        client = KubernetesCluster(str(cluster.kubeconfig), selector=selector, timing=watch_timing)
        self.reflector = Reflector(client, namespace, self.view, timing=watch_timing, stop=self.stop)
        self.reflector.start()

    @property
    def names(self) -> set[str]:
        return {config_map.name.removeprefix(PREFIX) for config_map in self.view.snapshot().config_maps}

    @property
    def texts(self) -> set[str]:
        return {
            json.loads(config_map.text)["data"]["agents.yaml"]
            for config_map in self.view.snapshot().config_maps
        }

    @property
    def troubles(self) -> str:
        return " ".join(self.view.snapshot().errors.values())

    @property
    def counts(self) -> dict[str, int]:
        return self.view.snapshot().counts

    def watches(self) -> None:
        """Wait until it is listed, and a watch is under way."""
        until(lambda: self.cluster.count("watch") and not self.troubles)


@pytest.fixture
def follow(cluster):
    made = []

    def start(namespace: str = "acme", **more) -> Followed:
        made.append(Followed(cluster, namespace, **more))
        return made[-1]

    yield start
    for reflector in made:
        reflector.stop.set()
    cluster.is_down = True
    cluster.cut()
    for reflector in made:
        reflector.reflector.join(2)


def test_what_is_there_and_what_changes_is_seen_and_nothing_else(cluster, follow):
    cluster.apply("acme", "first", "1")
    cluster.apply("other", "strange", "x")
    reflected = follow()
    reflected.watches()
    assert reflected.names == {"first"}

    cluster.apply("acme", "second", "2")
    cluster.apply("acme", "first", "changed")
    until(lambda: reflected.texts == {"changed", "2"})
    cluster.delete("acme", "first")

    until(lambda: reflected.names == {"second"})
    assert cluster.count("list") == 1


def test_a_name_without_our_prefix_is_not_ours(cluster, follow):
    cluster.apply("acme", "ours", "1")
    cluster.objects["acme", "theirs"] = {
        "metadata": {"name": "kube-root-ca.crt", "namespace": "acme", "labels": {}}
    }

    reflected = follow()
    reflected.watches()

    assert reflected.names == {"ours"}


def test_a_label_selector_is_asked_of_the_server(cluster, follow):
    cluster.apply("acme", "yes", "1", team="a")
    cluster.apply("acme", "no", "2", team="b")

    reflected = follow(selector="team=a")
    reflected.watches()

    assert reflected.names == {"yes"}


def test_all_namespaces_at_once(cluster, follow):
    cluster.apply("acme", "one", "1")
    cluster.apply("beta", "two", "2")

    reflected = follow(EVERYWHERE)
    reflected.watches()

    assert {config_map.namespace for config_map in reflected.view.snapshot().config_maps} == {"acme", "beta"}


def test_a_long_list_comes_in_pages(cluster, follow):
    cluster.page_size = 3
    for number in range(10):
        cluster.apply("acme", f"n{number}", str(number))

    reflected = follow()
    reflected.watches()

    assert len(reflected.names) == 10
    assert cluster.count("list") == 4


def test_a_page_that_came_too_late_starts_the_list_again(cluster, follow):
    cluster.page_size = 1
    cluster.apply("acme", "a", "1")
    cluster.apply("acme", "b", "2")
    page = {"metadata": {"resourceVersion": "1", "continue": "1:1"}, "items": []}
    cluster.oldest = 50
    cluster.fail("list", body=json.dumps(page).encode())

    reflected = follow()
    reflected.watches()

    assert reflected.names == {"a", "b"}
    assert reflected.counts["expired"] == 1


@pytest.mark.parametrize("in_stream", [True, False], ids=["line", "status"])
def test_what_the_server_has_forgotten_is_listed_again_with_its_deletions(cluster, follow, in_stream):
    cluster.expires_in_stream = in_stream
    cluster.apply("acme", "stays", "1")
    cluster.apply("acme", "goes", "2")
    reflected = follow()
    reflected.watches()

    with cluster.down():
        cluster.delete("acme", "goes")
        cluster.apply("acme", "comes", "3")
        cluster.compact()

    until(lambda: reflected.names == {"stays", "comes"})
    assert reflected.counts["expired"] >= 1


def test_a_dropped_watch_goes_on_where_it_was_without_a_list(cluster, follow):
    cluster.apply("acme", "first", "1")
    reflected = follow()
    reflected.watches()

    cluster.cut()
    cluster.apply("acme", "second", "2")

    until(lambda: reflected.names == {"first", "second"})
    assert cluster.count("list") == 1
    assert reflected.counts["drops"] == 1


def test_a_bookmark_moves_the_version_from_which_a_watch_goes_on(cluster, follow):
    cluster.apply("acme", "first", "1")
    reflected = follow()
    reflected.watches()
    cluster.touch()
    time.sleep(0.5)

    cluster.cut()
    until(lambda: cluster.count("watch") == 2)

    versions = [query["resourceVersion"] for kind, _, query in cluster.requests if kind == "watch"]
    assert versions == ["101", "102"]


def test_a_line_that_was_cut_is_as_if_it_had_not_come(cluster, follow):
    cluster.apply("acme", "first", "1")
    cluster.fail("watch", raw=b'{"type": "DELETED", "object": {"metadata": {"name": "flyteplugins-agents')

    reflected = follow()
    cluster.apply("acme", "second", "2")

    until(lambda: reflected.names == {"first", "second"})
    assert reflected.counts.get("garbled", 0) == 0


@pytest.mark.parametrize(
    "line",
    [
        b"<html>502</html>\n",
        b"[1]\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "EXPLODED", "object": {"metadata": {}}}\n',
        b'{"type": "ADDED", "object": {"metadata": {"name": 7, "resourceVersion": "5"}}}\n',
        b'{"type": "DELETED", "object": {"metadata": {"name": "x", "namespace": "acme"}}}\n',
        b'{"type": "ERROR", "object": {"code": 500, "message": "etcd"}}\n',
        b"\xff\xfe\n",
    ],
)
def test_a_line_that_nobody_understands_leads_to_a_new_list(cluster, follow, line):
    cluster.apply("acme", "first", "1")
    cluster.fail("watch", raw=line)

    reflected = follow()

    until(lambda: reflected.counts.get("garbled") == 1 and cluster.count("list") == 2)
    reflected.watches()
    assert reflected.names == {"first"}


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_refused_list_is_told_tried_again_and_forgets_nothing(cluster, follow, status):
    cluster.apply("acme", "first", "1")
    reflected = follow(relist_interval=0.0)
    until(lambda: reflected.names == {"first"})

    cluster.fail("list", times=3, status=status)
    until(lambda: str(status) in reflected.troubles)

    assert reflected.names == {"first"}
    until(lambda: not reflected.troubles)


def test_a_server_that_is_away_is_told_and_found_again(cluster, follow):
    cluster.apply("acme", "first", "1")
    reflected = follow()
    reflected.watches()

    with cluster.down():
        until(lambda: "cannot be reached" in reflected.troubles, 60)
        assert reflected.names == {"first"}
        cluster.apply("acme", "second", "2")

    until(lambda: reflected.names == {"first", "second"} and not reflected.troubles)


def test_an_answer_that_takes_too_long_is_given_up(cluster, follow):
    cluster.apply("acme", "first", "1")
    # Several, so that the trouble can be seen on a busy machine too.
    cluster.fail("list", times=5, delay=3.0)

    # Long enough for an ordinary answer of a busy machine.
    reflected = follow(response_timeout=1.0)

    until(lambda: "cannot be reached" in reflected.troubles, 60)
    until(lambda: reflected.names == {"first"}, 60)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b'{"metadata": {}, "items": []}', b'{"items": 7}'])
def test_a_list_that_is_none_removes_nothing(cluster, follow, body):
    cluster.apply("acme", "first", "1")
    reflected = follow(relist_interval=0.0)
    until(lambda: reflected.names == {"first"})

    cluster.fail("list", body=body)

    until(lambda: reflected.counts.get("garbled") == 1)
    assert reflected.names == {"first"}


def test_an_empty_list_is_not_believed_at_once(cluster, follow):
    cluster.apply("acme", "first", "1")
    reflected = follow(relist_interval=0.0)
    until(lambda: reflected.names == {"first"})

    cluster.fail("list", times=2, items=[])
    cluster.fail("list", times=20, status=500)
    until(lambda: "500" in reflected.troubles)
    assert reflected.names == {"first"}
    cluster.delete("acme", "first")

    until(lambda: reflected.names == set())


def test_a_proxy_that_answers_with_pages_of_its_own_is_told(cluster, follow):
    cluster.apply("acme", "first", "1")
    reflected = follow(relist_interval=0.0)
    until(lambda: reflected.names == {"first"})

    cluster.fail("list", times=10, body=b"<html>")

    until(lambda: "the list cannot be read" in reflected.troubles)
    assert reflected.names == {"first"}
    until(lambda: not reflected.troubles)


def test_the_server_says_how_long_to_wait(cluster, follow):
    cluster.apply("acme", "first", "1")
    cluster.fail("list", status=429, headers={"Retry-After": "1"})

    began = time.monotonic()
    reflected = follow()
    until(lambda: reflected.names == {"first"})

    assert time.monotonic() - began >= 1


def test_a_server_that_ends_every_watch_at_once_is_not_overrun(cluster, follow):
    cluster.apply("acme", "first", "1")
    cluster.fail("watch", times=1000, raw=b"\n")
    follow(initial_delay=0.05, max_delay=0.1)

    time.sleep(0.6)

    assert cluster.count("watch") < 20


def test_where_the_cluster_is_must_be_known(tmp_path):
    with pytest.raises(ClusterError, match="address is unknown"):
        KubernetesCluster(str(tmp_path / "missing"))
    with pytest.raises(ClusterError, match="address is unknown"):
        KubernetesCluster("")
