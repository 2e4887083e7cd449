"""The ticket of a change of overrides: kept once for its revision, and shown in the history."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from controlplane.identity.roles import Role
from overrides.models import Revision
from tests.support.api_client import Api, logged_in, make_project, token_for

pytestmark = pytest.mark.django_db
HERE = "project=ads&domain=production"
PATH = "overrides/workflow_execution_config"


@pytest.fixture
def api() -> Api:
    make_project("ads")
    return Api(token_for("admin"))


def tickets(api: Api) -> list[str]:
    return [item["ticket"] for item in api.get(f"{PATH}/versions?{HERE}").json()["items"]]


def test_each_way_to_change_an_override_keeps_its_ticket(api: Api) -> None:
    def body(value: int) -> dict[str, object]:
        return {"attributes": {"max_parallelism": value}}

    document = {"kind": "overrides", "project": "ads", "domain": "production"}
    spec = {"workflowExecutionConfig": {"maxParallelism": 4}}
    answers = [
        api.put(f"{PATH}?{HERE}&ticket=T-1", body(1)),
        api.patch(f"{PATH}?{HERE}&ticket=T-2", body(2), If_Match='"v1"'),
        api.put(f"{PATH}?{HERE}", body(3), If_Match='"v2"'),
        api.post("overrides:apply?ticket=T-4", {"documents": [{**document, "spec": spec}]}),
        api.post(f"{PATH}:rollback?{HERE}&ticket=T-5&force=true", {"to_version": 1}),
        api.delete(f"{PATH}?{HERE}&ticket=T-6&force=true", If_Match="*"),
    ]

    assert [answer.status_code for answer in answers] == [201, 200, 200, 200, 200, 204], [
        answer.content for answer in answers
    ]
    assert tickets(api) == ["T-6", "T-5", "T-4", "", "T-2", "T-1"]
    assert api.get(f"{PATH}/versions/2?{HERE}").json()["ticket"] == "T-2"
    revisions = {item["ticket"] for item in api.get("overrides/revisions").json()["items"]}
    assert {"T-1", "T-6"} <= revisions


def test_blame_and_comparison_name_the_ticket(api: Api) -> None:
    api.put(f"{PATH}?{HERE}&ticket=T-1", {"attributes": {"max_parallelism": 1}})
    api.put(
        f"{PATH}?{HERE}&ticket=T-2",
        {"attributes": {"max_parallelism": 1, "interruptible": True}},
        If_Match="*",
    )

    blamed = {item["pointer"]: item["ticket"] for item in api.get(f"{PATH}/blame?{HERE}").json()["items"]}
    assert blamed == {"/max_parallelism": "T-1", "/interruptible": "T-2"}
    compared = api.get(f"{PATH}/versions/1/diff/2?{HERE}").json()
    assert (compared["before"]["ticket"], compared["after"]["ticket"]) == ("T-1", "T-2")


def test_a_ticket_that_is_too_long_changes_nothing(api: Api) -> None:
    before = Revision.objects.count()

    refused = api.put(f"{PATH}?{HERE}&ticket={'x' * 201}", {"attributes": {"max_parallelism": 1}})

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "?ticket")
    assert Revision.objects.count() == before


def test_the_console_keeps_and_shows_it(api: Api) -> None:
    browser = logged_in("jane", Role.ADMIN)
    form = {"version": "0", "text": "max_parallelism: 3", "ticket": "ML-1234", "do": "save"}

    assert browser.post(f"/{PATH}/edit?{HERE}", form).status_code == 302

    assert tickets(api) == ["ML-1234"]
    assert '<span class="label">ML-1234</span>' in browser.get(f"/{PATH}/history?{HERE}").content.decode()


def test_the_history_links_ticket_and_audit_record(api: Api, settings: Any) -> None:
    settings.TICKET_URL = "https://tracker.example.com/browse/{ticket}"
    body = {"attributes": {"max_parallelism": 1}}
    api.put(f"{PATH}?{HERE}&ticket=ML-1", body)
    api.delete(f"{PATH}?{HERE}&ticket=ML-2", If_Match="*")
    api.put(f"{PATH}?{HERE}", body)
    browser = logged_in("jane", Role.ADMIN)

    page = browser.get(f"/{PATH}/history?{HERE}").content.decode()

    assert 'href="https://tracker.example.com/browse/ML-1" rel="noreferrer"' in page
    records = dict(
        re.findall(r'href="(/audit\?id=\d+&amp;open=\d+)" aria-label="Audit record of version (\d)"', page)
    )
    assert sorted(records.values()) == ["1", "2", "3"]
    actions = {
        version: re.findall(r"override\.(\w+)", browser.get(unescape(url)).content.decode())
        for url, version in records.items()
    }
    assert {version: set(found) for version, found in actions.items()} == {
        "1": {"created"},
        "2": {"deleted"},
        "3": {"created"},
    }


def test_the_history_links_no_records_that_the_caller_may_not_read(api: Api) -> None:
    api.put(f"{PATH}?{HERE}", {"attributes": {"max_parallelism": 1}})

    page = logged_in("joe", Role.VIEWER).get(f"/{PATH}/history?{HERE}").content.decode()

    assert ("v1" in page, "/audit?id=" in page) == (True, False)
