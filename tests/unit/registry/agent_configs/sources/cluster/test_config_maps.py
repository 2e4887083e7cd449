"""Decisions about a cluster's ConfigMaps: what a line says, how long to wait, what is told, what may go."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.documents.reading import read_document
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.cache import ConfigMapCache
from registry.agent_configs.sources.cluster.debounce import RemovalDebounce
from registry.agent_configs.sources.cluster.event_messages import (
    DataPlaneStatus,
    DocumentOutcome,
    Notice,
    build_event,
    build_notices,
)
from registry.agent_configs.sources.cluster.health import WatcherHealth, serve_probes
from registry.agent_configs.sources.cluster.objects import (
    Kind,
    MalformedResponse,
    VersionExpired,
    read_changes,
    read_config_map,
    read_page,
)
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE
from tests.support.paths import ROOT

NAME = "flyteplugins-agentservice-acme"
MANIFEST = ROOT / "deploy" / "kubernetes" / "agent-config-watcher.yaml"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def raw(name: str = NAME, namespace: str = "acme", version: str = "7", **more) -> dict:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": "u1",
        "resourceVersion": version,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata, "data": {"agents.yaml": "plugins: {}"}, **more}


def line(kind: str, value: object) -> bytes:
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


def test_the_text_is_a_config_map_that_the_documents_reader_understands():
    config_map = read_config_map(raw())

    reading = read_document(config_map.text)
    assert reading.name == NAME
    assert config_map.created_at == WHEN
    assert config_map.document == DocumentId("kubernetes", "acme", NAME)


def test_bookkeeping_is_not_in_the_text():
    config_map, other = raw(version="1"), raw(version="2", immutable=None)
    other["metadata"] |= {"labels": {"a": "b"}, "managedFields": [{}], "annotations": {"c": "d"}}

    assert read_config_map(config_map).text == read_config_map(other).text


@given(st.data())
def test_a_stream_says_the_same_however_it_is_cut_into_chunks(data):
    whole = b"".join(
        [line("ADDED", raw(version="1")), b"\n", line("BOOKMARK", {"metadata": {"resourceVersion": "2"}})]
    ) + line("DELETED", raw(version="3"))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    changes = [(change.kind, change.version, bool(change.config_map)) for change in read_changes(chunks)]

    assert changes == [(Kind.ADDED, "1", True), (Kind.BOOKMARK, "2", False), (Kind.DELETED, "3", True)]


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader_in_another_way_than_by_saying_so(noise):
    with suppress(VersionExpired, MalformedResponse):
        list(read_changes([line("ADDED", raw()), noise + b"\n"]))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    ["metadata", "items", "name", "namespace", "resourceVersion", "continue", "data"]
                ),
                x,
            )
        ),
    )
)
def test_no_page_breaks_the_reader_in_another_way_than_by_saying_so(value):
    with suppress(MalformedResponse):
        read_page(value)


@pytest.mark.parametrize("status", [{"code": 410}, {"reason": "Expired"}, {"reason": "Gone", "code": 0}])
def test_an_error_of_the_stream_that_says_gone_is_the_other_form_of_410(status):
    with pytest.raises(VersionExpired):
        list(read_changes([line("ERROR", {"kind": "Status", **status})]))


def test_a_line_without_an_end_is_not_collected_for_ever():
    endless = (b"x" * (1 << 20) for _ in range(100))

    with pytest.raises(MalformedResponse, match="too long"):
        list(read_changes(endless))


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_a_limit_and_never_vanish(failures, chance):
    pace = WatchTiming(initial_delay=0.5, max_delay=30)

    delay = pace.delay(failures, chance=chance)

    assert 0.25 <= delay <= 30
    assert delay <= 0.5 * 2.0 ** min(failures - 1, 100)


@pytest.mark.parametrize(("requested", "waited"), [(0, 0.25), (7, 7), (9999, 120)])
def test_what_the_server_asks_for_is_waited_for_within_reason(requested, waited):
    assert WatchTiming().delay(1, chance=0, retry_after=requested) == waited


def test_removals_wait_until_no_other_comes():
    a, b = DocumentId("kubernetes", "acme", "a"), DocumentId("kubernetes", "acme", "b")

    settling = RemovalDebounce().update([a], now=100)
    both = settling.update([a, b], now=104)

    assert settling.pending_removals(quiet=5, now=104) == {a}
    assert both.update([a, b], now=106) == both
    assert both.pending_removals(quiet=5, now=108) == {a, b}
    assert both.pending_removals(quiet=5, now=109) == frozenset()


def standing(
    accepted: bool = True, reason: str = "Accepted", message: str = "", conflicts=()
) -> DataPlaneStatus:
    return DataPlaneStatus(accepted, (reason, message), tuple(conflicts))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            DocumentOutcome(1, 1, ()),
            [("Accepted", "Normal", "Generation 1 is valid. No data plane accepts the team.")],
        ),
        (
            DocumentOutcome(1, 1, (), {"eu": standing(), "us": standing()}),
            [("Accepted", "Normal", "eu, us: accepted.")],
        ),
        (
            DocumentOutcome(2, 1, ("A: x.", "B: y.")),
            [("InvalidConfiguration", "Warning", "A: x. And 1 more. Generation 1 is still served.")],
        ),
        (
            DocumentOutcome(1, 0, ("A: x.",)),
            [("InvalidConfiguration", "Warning", "A: x. No generation is served.")],
        ),
        (
            DocumentOutcome(1, 1, (), {"eu": standing(False, "x", "", ["It is taken."]), "us": standing()}),
            [("Conflicted", "Warning", "eu: It is taken."), ("Accepted", "Normal", "us: accepted.")],
        ),
        (
            DocumentOutcome(1, 1, (), {"eu": standing(False, "Quarantined", "It floods.")}),
            [("Quarantined", "Warning", "eu: It floods.")],
        ),
    ],
)
def test_what_authors_are_told(outcome, expected):
    assert [(notice.reason, notice.type, notice.note) for notice in build_notices(outcome)] == expected


def test_an_event_is_one_that_kubernetes_takes():
    config_map = read_config_map(raw(name=f"{NAME}{'x' * 200}"))
    (notice,) = build_notices(DocumentOutcome(1, 0, ("x" * 5000,)))

    event = build_event(notice, config_map, instance="host" * 100, now=WHEN)

    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert len(event["note"]) == 1024
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["reportingInstance"]) <= 128
    assert event["regarding"]["uid"] == "u1"


def test_other_news_or_another_object_have_an_event_of_their_own():
    config_map, again = read_config_map(raw()), read_config_map(raw())
    names = {
        build_event(Notice("Accepted", "Normal", note), one, instance="i", now=WHEN)["metadata"]["name"]
        for note in ("a", "b")
        for one in (config_map, again)
    }

    assert len(names) == 2


def test_a_namespace_that_was_never_listed_is_a_trouble():
    view = ConfigMapCache(["acme", "beta"])
    view.replace("acme", [read_config_map(raw())])

    snapshot = view.snapshot()

    assert snapshot.errors == {"beta": "namespace beta: not listed yet."}
    assert not snapshot.is_complete
    view.record_error("beta", "forbidden")
    assert view.snapshot().is_complete
    view.clear_error("beta")
    assert not view.snapshot().is_complete
    assert ConfigMapCache([EVERYWHERE]).snapshot().errors == {EVERYWHERE: "all namespaces: not listed yet."}


def test_the_kubelet_is_told_whether_the_watcher_is_alive_and_ready():
    pulse = WatcherHealth()
    server = serve_probes(pulse, 0)
    try:
        assert [_status_of(server, path) for path in ("/livez", "/readyz", "/else")] == [200, 503, 404]
        pulse.record_step(is_ready=True)
        assert _status_of(server, "/readyz") == 200
        pulse.last_step_at -= 1000
        assert [_status_of(server, path) for path in ("/livez", "/readyz")] == [503, 503]
    finally:
        server.shutdown()
        server.server_close()


def _status_of(server, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}") as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_manifest_gives_the_least_rights_and_runs_the_command():
    account, role, binding, deployment = yaml.safe_load_all(MANIFEST.read_text())

    rights = {
        (tuple(rule["apiGroups"]), tuple(rule["resources"])): set(rule["verbs"]) for rule in role["rules"]
    }
    assert role["kind"] == "Role"
    assert rights == {
        (("",), ("configmaps",)): {"get", "list", "watch"},
        (("events.k8s.io",), ("events",)): {"create", "patch"},
    }
    subject = {name: account["metadata"][name] for name in ("name", "namespace")}
    assert binding["subjects"] == [{"kind": "ServiceAccount", **subject}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert container["command"] == ["python", "manage.py", "watch_agent_configs"]
    assert container["env"][0]["value"] == role["metadata"]["namespace"] == binding["metadata"]["namespace"]
    assert container["ports"][0]["containerPort"] == 8090
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
