"""Random interleavings of Flyte's and native writes: both views always tell of the same rows."""

from __future__ import annotations

from typing import Any

import pytest
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.admin import project_attributes_pb2, project_domain_attributes_pb2, workflow_attributes_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overrides.models import Override, OverrideVersion
from tests.support.api_client import Api, make_project, token_for
from tests.support.flyte_messages import PROTOBUF, FlyteHttp, read
from tests.support.properties import examples

LEVELS: dict[str, tuple[dict[str, str], Any]] = {
    "project_attributes/flytesnacks": (
        {"project": "flytesnacks"},
        project_attributes_pb2.ProjectAttributesGetResponse,
    ),
    "project_domain_attributes/flytesnacks/development": (
        {"project": "flytesnacks", "domain": "development"},
        project_domain_attributes_pb2.ProjectDomainAttributesGetResponse,
    ),
    "workflow_attributes/flytesnacks/development/w": (
        {"project": "flytesnacks", "domain": "development", "workflow": "w"},
        workflow_attributes_pb2.WorkflowAttributesGetResponse,
    ),
}
PLUGINS = st.lists(
    st.fixed_dictionaries(
        {"task_type": st.sampled_from("abc"), "plugin_id": st.just(["x"]) | st.just(["y"])}
    ),
    max_size=3,
    unique_by=lambda element: element["task_type"],
)
SPECS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2"]), max_size=2)
WRITES = st.one_of(
    st.tuples(st.just("task_resource"), st.fixed_dictionaries({"defaults": SPECS})),
    st.tuples(st.just("plugin_override"), st.fixed_dictionaries({"overrides": PLUGINS})),
    st.tuples(st.sampled_from(["task_resource", "plugin_override"]), st.none()),
)
FIELDS = {"task_resource": "task_resource_attributes", "plugin_override": "plugin_overrides"}
NUMBERS = {"task_resource": 0, "plugin_override": 5}
Rows = dict[tuple[str, str], Any]


@pytest.fixture
def clients(db) -> tuple[Api, FlyteHttp]:
    make_project()
    token = token_for("admin")
    return Api(token), FlyteHttp(token)


def write_natively(api: Api, path: str, kind: str, attributes: Any) -> None:
    query = "&".join(f"{name}={value}" for name, value in LEVELS[path][0].items())
    where = f"overrides/{kind}?{query}"
    if attributes is not None:
        assert api.put(where, {"attributes": attributes}, If_Match="*").status_code in (200, 201, 412)
        assert api.put(where, {"attributes": attributes}).status_code in (201, 428)
    else:
        assert api.delete(where, If_Match="*").status_code in (204, 404)


def write_as_flyte(http: FlyteHttp, path: str, kind: str, attributes: Any) -> None:
    if attributes is None:
        assert http.delete(path, {"resource_type": NUMBERS[kind]}).status_code == 200
        return
    body = {"attributes": {"matching_attributes": {FIELDS[kind]: attributes}}}
    assert http.put(path, body).status_code == 200


def expected(rows: Rows, path: str, kind: str, attributes: Any, *, natively: bool) -> None:
    """What stands after the write: an own, naive model."""
    before = rows.get((path, kind))
    if attributes is None:
        rows.pop((path, kind), None)
    elif natively or kind != "plugin_override" or before is None:
        rows[path, kind] = attributes
    else:
        task_types = {override["task_type"] for override in attributes["overrides"]}
        overrides = [override for override in before["overrides"] if override["task_type"] not in task_types]
        rows[path, kind] = {"overrides": overrides + attributes["overrides"]}


def check(api: Api, http: FlyteHttp, rows: Rows) -> None:
    paths = list(LEVELS)
    for kind, number in NUMBERS.items():
        for depth, path in enumerate(paths):
            query = "&".join(f"{name}={value}" for name, value in LEVELS[path][0].items())
            native = api.get(f"overrides/{kind}?{query}")
            assert (native.status_code == 200) == ((path, kind) in rows)
            expected_paths = None if path == paths[0] else paths[: depth + 1]
            path_found = next((p for p in reversed(expected_paths or [path]) if (p, kind) in rows), None)
            answer = http.get(f"{path}?resource_type={number}", accepts=PROTOBUF)
            assert (answer.status_code == 200) == (path_found is not None)
            if path_found is not None:
                message = read(LEVELS[path][1](), answer, PROTOBUF).attributes.matching_attributes
                assert message == message_of(kind, rows[path_found, kind])


def message_of(kind: str, attributes: Any) -> flyte.MatchingAttributes:
    if kind == "task_resource":
        defaults = flyte.TaskResourceSpec(**attributes["defaults"])
        return flyte.MatchingAttributes(
            task_resource_attributes=flyte.TaskResourceAttributes(defaults=defaults)
        )
    overrides = [flyte.PluginOverride(**override) for override in attributes["overrides"]]
    return flyte.MatchingAttributes(plugin_overrides=flyte.PluginOverrides(overrides=overrides))


@settings(examples(15, nightly=500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(list(LEVELS)), WRITES), min_size=1, max_size=8))
def test_both_views_are_of_the_same_rows(clients, steps):
    api, http = clients
    OverrideVersion.objects.all().delete()
    Override.objects.all().delete()
    rows: Rows = {}
    for natively, path, (kind, attributes) in steps:
        (write_natively if natively else write_as_flyte)(api if natively else http, path, kind, attributes)
        expected(rows, path, kind, attributes, natively=natively)
        check(api, http, rows)
