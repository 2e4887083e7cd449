"""Lists, exports, differences and batches of overrides: filters, orders, and nothing needless."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.field_managers import apply_attributes, managed_part
from overrides.models import Override
from overrides.resolution.leaves import leaves, name_of
from overrides.resource_types import BUILT_IN
from tests.support.api_client import Api, make_project, single_answers, token_for

QUEUE, TASKS = "overrides/execution_queue", "overrides/task_resource"
YAML = "application/yaml"
HERE = "project=flytesnacks&domain=development"


@pytest.fixture
def filled(api: Api) -> Api:
    """Overrides of two managers, two people, at four scopes."""
    make_project()
    make_project("other")
    api.put(f"{TASKS}?project=flytesnacks&managed_by=git", {"attributes": {"defaults": {"cpu": "1"}}})
    api.put(f"{TASKS}?{HERE}&managed_by=git", {"attributes": {"limits": {"gpu": "2"}}})
    api.patch(f"{TASKS}?{HERE}&managed_by=team", {"attributes": {"limits": {"cpu": "3"}}})
    api.put(f"{QUEUE}?project=other&change_message=For+GPU+work", {"attributes": {"tags": ["a"]}})
    editor = Api(token_for("editor"))
    editor.put(QUEUE, {"attributes": {"tags": ["b"]}})
    return api


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json()
    return [f"{item['resource_type']} {Scope(**segments(item))}" for item in answer.json()["items"]]


def segments(item: Any) -> dict[str, str]:
    return {name: value for name, value in item["scope"].items() if name != "level"}


OF_PROJECT = "task_resource project=flytesnacks"
OF_DOMAIN = "task_resource project=flytesnacks domain=development"
OF_OTHER, GLOBAL = "execution_queue project=other", "execution_queue global"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("managed_by=git", [OF_PROJECT, OF_DOMAIN]),
        ("managed_by=team", [OF_DOMAIN]),
        ("managed_by=tea", []),
        ("managed_by=te%22am", []),
        ("q=gpu", [OF_DOMAIN, OF_OTHER]),
        ("q=FLYTES", [OF_PROJECT, OF_DOMAIN]),
        ("q=queue", [OF_OTHER, GLOBAL]),
        ("q=%25", []),
        ("q=_resource&project=flytesnacks", [OF_PROJECT, OF_DOMAIN]),
        ("managed_by=git&q=development", [OF_DOMAIN]),
        ("value=limits.cpu=3", [OF_DOMAIN]),
        ("value=cpu+=+1", [OF_PROJECT]),
        ("value=/defaults/cpu=1", [OF_PROJECT]),
        ("value=cpu=7", []),
        ("value=limits=3", []),
        ("value=gpu=2&project=other", []),
    ],
)
def test_a_list_holds_what_the_filters_name(filled, query, expected):
    assert names(filled.get(f"overrides?{query}")) == expected


def test_a_list_of_what_somebody_changed_last(filled):
    editor = Override.objects.get(project="", resource_type="execution_queue").changed_by

    assert names(filled.get(f"overrides?changed_by={editor}")) == [GLOBAL]


def test_filters_look_back_too(filled):
    assert names(filled.get("overrides?managed_by=team&as_of=2")) == []
    assert names(filled.get("overrides?managed_by=git&as_of=2&sort=-scope")) == [OF_DOMAIN, OF_PROJECT]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("scope", [GLOBAL, OF_PROJECT, OF_DOMAIN, OF_OTHER]),
        ("-scope", [OF_OTHER, OF_DOMAIN, OF_PROJECT, GLOBAL]),
        ("changed_at", [OF_PROJECT, OF_DOMAIN, OF_OTHER, GLOBAL]),
        ("-changed_at", [GLOBAL, OF_OTHER, OF_DOMAIN, OF_PROJECT]),
        ("resource_type", [OF_OTHER, GLOBAL, OF_PROJECT, OF_DOMAIN]),
    ],
)
def test_an_order_holds_over_pages(filled, sort, expected):
    items, cursor = [], ""
    while cursor is not None:
        page = filled.get(f"overrides?sort={sort}&limit=1" + (f"&cursor={cursor}" if cursor else ""))
        items += names(page)
        cursor = page.json()["next_cursor"]

    assert items == expected == names(filled.get(f"overrides?sort={sort}"))


def test_an_unknown_order_is_refused(filled):
    answer = filled.get("overrides?sort=attributes")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?sort")


@pytest.mark.parametrize("value", ["cpu", "cpu%3D", "%3D3", ".cpu%3D3", "", "a%3D%00"])
def test_a_value_without_path_or_value_is_refused(filled, value):
    answer = filled.get(f"overrides?value={value}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?value")


def test_values_are_found_only_where_the_caller_may_read(filled):
    viewer = Api(token_for("viewer", scope=Scope(project="other")))

    assert names(viewer.get("overrides?value=cpu=1")) == []


def test_a_filtered_list_shows_only_what_the_caller_may_read(filled):
    viewer = Api(token_for("viewer", scope=Scope(project="other")))

    assert names(viewer.get("overrides?q=gpu")) == [OF_OTHER]


# Exports.


def exported(answer: Any) -> list[Any]:
    assert answer.status_code == 200, answer.json()
    return list(strict_yaml.load_all(answer.content.decode()))


def test_an_export_of_a_scope_has_only_the_overrides_at_and_below_it(filled):
    documents = exported(filled.get("overrides/export?format=documents&project=flytesnacks"))

    assert [(document["kind"], document["project"], document.get("domain")) for document in documents] == [
        ("overrides", "flytesnacks", None),
        ("overrides", "flytesnacks", "development"),
    ]
    assert len(exported(filled.get(f"overrides/export?format=documents&{HERE}"))) == 1


def test_an_export_of_a_manager_has_only_its_values(filled):
    documents = exported(filled.get("overrides/export?format=documents&managed_by=git"))

    assert [document["spec"] for document in documents] == [
        {"taskResources": {"defaults": {"cpu": "1"}}},
        {"taskResources": {"limits": {"gpu": "2"}}},
    ]
    assert exported(filled.get("overrides/export?format=documents&managed_by=nobody")) == []


@pytest.mark.parametrize("manager", ["git", "team", "nobody"])
@pytest.mark.parametrize("layout", ["documents", "configmap"])
def test_an_export_of_a_manager_applied_by_it_changes_nothing(filled, manager, layout):
    body = filled.get(f"overrides/export?format={layout}&managed_by={manager}").content

    path = f"overrides:apply?managed_by={manager}&prune=true"
    answer = filled.post(path, body or b"[]", Content_Type=YAML)

    assert answer.status_code == 200, answer.json()
    assert answer.json()["revision"] == 0


def test_an_export_of_a_project_needs_no_more_than_reading_it(filled):
    viewer = Api(token_for("viewer", scope=Scope(project="flytesnacks")))

    assert viewer.get("overrides/export?project=flytesnacks").status_code == 200
    assert viewer.get("overrides/export?project=other").status_code == 403
    assert viewer.get("overrides/export?managed_by=git").status_code == 403
    assert viewer.get("overrides/export").status_code == 403


def test_an_export_of_a_mistyped_project_is_not_empty_but_refused(filled):
    answer = filled.get("overrides/export?project=flytesnack")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_project")


def test_an_export_of_a_part_looks_back(filled):
    documents = exported(filled.get("overrides/export?format=documents&managed_by=git&as_of=1"))

    assert [document["spec"] for document in documents] == [{"taskResources": {"defaults": {"cpu": "1"}}}]


PLUGINS = BUILT_IN["plugin_override"].rule
item = st.fixed_dictionaries(
    {"task_type": st.sampled_from(["a", "b"])},
    optional={"plugin_id": st.lists(st.sampled_from("xy"), max_size=1)},
)
plugins = st.fixed_dictionaries(
    {"overrides": st.lists(item, min_size=1, max_size=2, unique_by=lambda entry: entry["task_type"])}
)


@given(plugins, plugins)
def test_the_part_of_a_manager_applied_by_it_changes_nothing(first, second):
    stored = apply_attributes(None, {}, first, PLUGINS, "git")
    both = apply_attributes(stored.attributes, stored.owners, second, PLUGINS, "team")
    assert both.attributes is not None

    part = managed_part(both.attributes, both.owners, PLUGINS, "git")
    again = apply_attributes(both.attributes, both.owners, part, PLUGINS, "git")

    assert (again.attributes, again.owners) == (both.attributes, both.owners)
    expected = {name_of(path) for path, _ in leaves(part, PLUGINS)} if part else set()
    assert {leaf for leaf, managers in both.owners.items() if "git" in managers} <= expected


# Differences of revisions.


def test_a_difference_lists_only_what_differs(api):
    make_project()
    api.put(TASKS, {"attributes": {"defaults": {"cpu": "1"}}})
    api.put(f"{TASKS}?domain=staging", {"attributes": {"defaults": {"cpu": "1"}}})
    api.put(f"{TASKS}?domain=staging", {"attributes": {"defaults": {"cpu": "2"}}}, If_Match='"v1"')
    api.put(f"{TASKS}?domain=staging", {"attributes": {"defaults": {"cpu": "1"}}}, If_Match='"v2"')
    api.put(f"{TASKS}?project=flytesnacks", {"attributes": {"defaults": {"cpu": "1"}}})
    api.delete(f"{TASKS}?project=flytesnacks", If_Match='"v1"')
    api.post(
        "overrides:apply?managed_by=git",
        {"documents": [{"spec": {"taskResources": {"defaults": {"cpu": "1"}}}}]},
    )
    api.put(f"{TASKS}?domain=production", {"attributes": {}})

    (difference,) = api.get("overrides/diff?from=2").json()["items"]

    assert (difference["scope"]["domain"], difference["before"], difference["after"]) == (
        "production",
        None,
        {},
    )
    assert len(api.get("overrides/diff?from=2&to=3").json()["items"]) == 1
    assert api.get("overrides/diff?from=2&to=4").json()["items"] == []
    assert api.get("overrides/diff?from=6&to=7").json()["items"] == []
    gone = api.get("overrides/diff?from=5&to=6").json()["items"]
    assert [(change["before"], change["after"]) for change in gone] == [({"defaults": {"cpu": "1"}}, None)]


def test_numbers_that_are_written_differently_differ(api):
    api.post("resource-types", {"name": "free", "strategy": "merge", "schema": {"type": "object"}})
    api.put("overrides/free", b'{"attributes": {"x": 1}}')
    api.put("overrides/free", b'{"attributes": {"x": 1.0}}', If_Match='"v1"')

    assert len(api.get("overrides/diff?from=2").json()["items"]) == 1


def test_a_difference_backwards_is_refused(filled):
    answer = filled.get("overrides/diff?from=3&to=1")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?from")


def test_differences_come_in_whole_pages(api):
    make_project()
    for domain in ("development", "staging", "production"):
        api.put(f"{TASKS}?domain={domain}", {"attributes": {"defaults": {"cpu": "1"}}})
    api.put(f"{TASKS}?domain=staging", {"attributes": {"defaults": {"cpu": "2"}}}, If_Match='"v1"')
    api.delete(f"{TASKS}?domain=staging", If_Match='"v2"')

    page = api.get("overrides/diff?from=0&limit=1").json()
    more = api.get(f"overrides/diff?from=0&limit=1&cursor={page['next_cursor']}").json()

    domains = [item["scope"]["domain"] for item in (*page["items"], *more["items"])]
    assert (domains, more["next_cursor"]) == (["development", "production"], None)


# Batches.


def test_a_batch_names_each_source_once_and_says_the_same(filled):
    filled.put(
        "guard-rails/cap?accept_existing=true",
        {"name": "cap", "resource_type": "task_resource", "pointer": "/limits/gpu", "rule": {"maximum": 1}},
    )
    filled.patch(f"{TASKS}?project=flytesnacks&force=true", {"attributes": {"limits": {"memory": "1Gi"}}})
    filled.patch(
        f"{TASKS}?{HERE}",
        [{"op": "add", "path": "/attributes/limits/memory", "value": None}],
        Content_Type="application/json-patch+json",
    )
    scopes = [{}, {"project": "flytesnacks"}, {"project": "flytesnacks", "domain": "development"}, {}]

    batch = filled.post("overrides/effective:batch", {"scopes": scopes}).json()

    single = [
        filled.get("overrides/effective?" + "&".join(f"{k}={v}" for k, v in scope.items())).json()
        for scope in scopes
    ]
    assert single_answers(batch) == single
    types = [item for answer in single for item in answer["items"]]
    assert any(entry["refused"] for entry in types)
    assert any(entry["removed"] for entry in types)
    sources = [(source["override_id"], source["version"]) for source in batch["sources"]]
    assert len(sources) == len(set(sources)) == 3


def test_a_batch_without_reasons_has_no_sources(filled):
    batch = filled.post("overrides/effective:batch", {"scopes": [{}], "explain": False}).json()

    assert (batch["sources"], set(batch["items"][0]["items"][0])) == (
        [],
        {"resource_type", "strategy", "attributes"},
    )


def test_a_wide_batch_is_much_smaller_than_its_single_answers(filled):
    scopes = [{"project": "flytesnacks", "domain": "development", "workflow": f"w{n}"} for n in range(100)]

    batch = filled.post("overrides/effective:batch", {"scopes": scopes})
    single = filled.get(f"overrides/effective?{HERE}&workflow=w0")

    assert len(batch.json()["sources"]) == 3
    assert len(batch.content) < 60 * len(single.content)


def test_indices_are_in_the_order_of_their_first_use(filled):
    batch = filled.post("overrides/effective:batch", {"scopes": [{"project": "flytesnacks"}, {}]}).json()
    used = [leaf["source"] for item in batch["items"] for item in item["items"] for leaf in item["leaves"]]
    first = list(dict.fromkeys(used))

    assert all(earlier < later for earlier, later in pairwise(first))
