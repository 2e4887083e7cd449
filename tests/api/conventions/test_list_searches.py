"""`sort` and `q` of all lists: each key is a column without NULL, and text is found by its parts."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection

from controlplane.api.scans import MOST_SCANNED
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.contract.test_list_parameters import DOCUMENT
from tests.support.api_client import Api, logged_in, make_project, token_for

pytestmark = pytest.mark.django_db
# The oldest row has another text than all later ones.
_AUDIT = """
INSERT INTO access_auditrecord (actor, action, object_type, object_id, domain, project, workflow,
                                launch_plan, reason, request_id, after)
SELECT 'ada', 'project.updated', 'project', 'p' || n, '', '', '', '', '', 'r' || n,
       CASE WHEN n = 1 THEN '{"name": "Needle"}'::jsonb END
FROM generate_series(1, %s) n
"""
_EVENTS = """
INSERT INTO events_event (id, seq, type, object_type, object_id, domain, project, workflow, launch_plan,
                          actor, request_id, data)
SELECT gen_random_uuid(), n, 'project.updated', 'project',
       CASE WHEN n = 1 THEN 'needle' ELSE 'p' || n END, '', '', '', '', 'ada', '', '{}'
FROM generate_series(1, %s) n
"""


@pytest.fixture
def api() -> Api:
    return Api(token_for("admin"))


def sorted_lists() -> list[tuple[str, tuple[str, ...]]]:
    """Return the paths without parameters whose lists sort, with their keys."""
    found = []
    for path, methods in DOCUMENT["paths"].items():
        parameters = {one["name"]: one for one in methods.get("get", {}).get("parameters", ())}
        if "sort" in parameters and "{" not in path:
            keys = re.match(r"\^-\?\(([^)]*)\)", parameters["sort"]["schema"]["pattern"])
            assert keys
            found.append((path.removeprefix("/api/v1/"), tuple(keys[1].split("|"))))
    return found


@pytest.mark.parametrize(("path", "keys"), sorted_lists())
def test_a_list_sorts_by_each_of_its_keys_and_searches(api: Api, path: str, keys: tuple[str, ...]) -> None:
    both = [f"{sign}{key}" for key in keys for sign in ("", "-")]

    # Events are searched newest first alone.
    text = "" if path == "events" else "a%25_%5C"
    answers = {sort: api.get(f"{path}?sort={sort}&q={text}&limit=1") for sort in both}

    assert {sort: answer.json() for sort, answer in answers.items() if answer.status_code != 200} == {}
    assert api.get(f"{path}?sort={keys[0]},nonsense").json()["errors"][0]["allowed"] == [*keys]


def walk(api: Api, path: str, cursor: str = "cursor") -> list[list[Any]]:
    """Return the items of each page."""
    pages, place = [], ""
    while True:
        page = api.get(f"{path}&{cursor}={place}" if place else path).json()
        pages.append(page["items"])
        place = page[f"next_{cursor}"]
        if not place:
            return pages


def test_a_search_of_the_audit_log_looks_through_a_part_of_it_a_page(api: Api) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_AUDIT, [MOST_SCANNED + 5])

    pages = walk(api, "audit?q=NEEDLE")

    assert [[item["object_id"] for item in items] for items in pages] == [[], ["p1"]]
    assert [item["object_id"] for item in walk(api, "audit?q=needle&sort=at")[0]] == ["p1"]
    oldest = api.get("audit?sort=at&limit=2&actor=ada").json()["items"]
    assert [item["object_id"] for item in oldest] == ["p1", "p2"]
    outsider = Api(token_for("admin", scope=Scope(project="flytesnacks")))
    assert walk(outsider, "audit?q=needle") == [[], []]
    # What matches often fills the page as ever.
    assert len(api.get("audit?q=p1&limit=200").json()["items"]) == 200
    refused = api.get("audit?q=p1&include_total=estimate")
    assert refused.json()["errors"][0]["pointer"] == "?include_total"
    assert api.get("audit?sort=at&order=asc").json()["errors"][0]["pointer"] == "?order"


def test_the_audit_log_is_filtered_by_action_project_and_domain(api: Api) -> None:
    for name in ("ads", "pay"):
        make_project(name)
    values = {"attributes": {"max_parallelism": 3}}
    for scope in ("project=ads", "project=ads&domain=production", "project=pay&domain=production"):
        assert api.put(f"overrides/workflow_execution_config?{scope}", values).status_code == 201

    def records(query: str) -> int:
        return len(api.get(f"audit?object_type=override&{query}").json()["items"])

    assert records("project=ads") == 2
    assert records("domain=production") == 2
    assert records("project=ads&domain=production&action=override.created") == 1
    assert records("project=ads&action=override.deleted") == 0
    with connection.cursor() as cursor:
        cursor.execute(_AUDIT, [MOST_SCANNED + 5])
    assert [len(items) for items in walk(api, "audit?project=ads&action=override.created")] == [0, 2]
    browser, address = logged_in("jane", Role.ADMIN), "/audit?project=ads&action=override.created"
    first = browser.get(address).content.decode()
    assert "None of these 10,000 records match." in first
    following = re.search(r'rel="next" href="([^"]*)"', first)
    assert following
    second = browser.get(f"/audit{unescape(following[1])}").content.decode()
    assert second.count(">override.created<") == 2
    assert 'rel="next"' not in second


def test_a_search_of_events_continues_where_the_page_ended(api: Api) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE events_numbering SET last_seq = %s", [MOST_SCANNED + 5])
        cursor.execute(_EVENTS, [MOST_SCANNED + 5])

    pages = walk(api, "events?q=Needle", "before")

    assert [[item["seq"] for item in items] for items in pages] == [[], [1]]
    assert [item["seq"] for item in api.get("events?sort=at&limit=2").json()["items"]] == [1, 2]
    for contradiction in ("after=0", "wait=1", "order=asc", "format=cloudevents"):
        assert api.get(f"events?q=needle&{contradiction}").json()["errors"][0]["pointer"] == "?q"


def test_text_is_found_in_any_of_the_fields_and_wildcards_are_text(api: Api) -> None:
    for name, title in (("gpu_a", "Cards"), ("cpu", "Cores of gpu_a"), ("gpuxa", "")):
        api.put(f"pools/{name}", {"capacity": 4, "title": title})

    def named(query: str) -> list[str]:
        return [item["name"] for item in api.get(f"pools?kind=pool&{query}").json()["items"]]

    assert named("q=GPU_A") == ["cpu", "gpu_a"]
    assert named("q=%25") == []
    # Lists that join other tables have each row once.
    assert api.get("teams?member=ada&sort=title,-slug&q=a").status_code == 200
    assert api.get("jobs?plugin=a&sort=-changed_at,name&q=a").status_code == 200
    assert named("q=&sort=capacity,-name") == ["gpuxa", "gpu_a", "cpu"]
