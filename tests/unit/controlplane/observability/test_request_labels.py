"""Labels of requests: their values come from our routes, never from clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.observability.request_labels import class_of, labels_of, timed_route

ROUTE = "api/v1/agents/<uuid:agent_id>"


@pytest.mark.parametrize(
    ("method", "route", "status", "labels"),
    [
        ("GET", ROUTE, 200, ("GET", ROUTE)),
        ("GET", ROUTE, 404, ("GET", ROUTE)),
        ("GET", "agents/<uuid:agent_id>", 200, ("GET", "console")),
        ("GET", "", 200, ("GET", "console")),
        ("GET", None, 404, ("GET", "none")),
        # Whoever tries all methods at all routes makes no series of them.
        ("DELETE", ROUTE, 405, ("DELETE", "none")),
        ("BREW", ROUTE, 405, ("other", "other")),
        ("HEAD", ROUTE, 200, ("other", "other")),
        (None, None, 400, ("other", "other")),
    ],
)
def test_labels(method, route, status, labels):
    assert labels_of(method, route, status) == labels


@given(st.text(), st.integers(100, 599))
def test_no_method_of_a_client_becomes_a_label(method, status):
    label, _ = labels_of(method, ROUTE, status)
    assert label in {"GET", "POST", "PUT", "PATCH", "DELETE", "other"}


def test_classes():
    assert [class_of(status) for status in (200, 304, 429, 503)] == ["2xx", "3xx", "4xx", "5xx"]


@pytest.mark.parametrize(
    ("route", "timed"),
    [
        ("api/v1/operations/<str:operation_id>:cancel", "api/v1/resources"),
        ("api/v1/agent-config-bundles", "api/v1/agent-configs"),
        ("api/v1/override-freezes/<uuid:freeze>:end", "api/v1/overrides"),
        ("api/v1/join-tokens", "api/v1/join-tokens"),
        (ROUTE, "api/v1/agents"),
        ("api/v1/agents:bulk", "api/v1/agents"),
        ("api/v1/agents/<uuid:agent_id>/heartbeat", "api/v1/agents/<uuid:agent_id>/heartbeat"),
        ("api/v1/overrides/effective", "api/v1/overrides/effective"),
        ("api/v1/overrides/effective/render", "api/v1/overrides"),
        ("api/v1alpha1/agents/<str:name>", "api/v1alpha1/agents"),
        ("oauth2/token", "oauth2"),
        (".well-known/jwks.json", ".well-known"),
        ("console", "console"),
        ("none", "none"),
        ("metrics", "metrics"),
    ],
)
def test_durations_are_counted_by_part_of_the_api(route, timed):
    assert timed_route(route) == timed
