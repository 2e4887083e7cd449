"""Jobs are validated and previewed by HTTP: the window, templates, secrets by name only, all errors."""

from __future__ import annotations

from typing import Any

import pytest

from registry.api.jobs.examples import JOB, PREVIEW_WRITE
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db
NIGHT = PREVIEW_WRITE.value


def preview(api: Api, **changed: Any) -> Any:
    answer = api.post("jobs:preview", {**NIGHT, **changed})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_a_run_gets_its_window_settings_files_and_secrets_by_name(api):
    shown = preview(api)
    assert shown["valid"]
    envs = shown["envs"]
    assert envs["TABLE"] == "warehouse.orders"
    assert (envs["DSTART"], envs["DEND"]) == ("2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z")
    assert envs["JOB_LABELS"] == "job_name=shop-orders-daily,project=shop"
    assert shown["secrets"] == {"PASSWORD": "<SECRET:DB_PASSWORD>"}
    assert shown["files"]["query.sql"]["text"] == "SELECT * FROM orders WHERE day = '2026-11-22'"
    assert shown["unsubstituted"] == []


def test_a_file_that_reads_a_secret_is_sensitive(api):
    shown = preview(api, assets={"token": "{{ .secret.DB_PASSWORD }}", "plain": "x"})
    assert {name: file["sensitive"] for name, file in shown["files"].items()} == {
        "token": True,
        "plain": False,
    }


def test_what_is_missing_is_named(api):
    shown = preview(api, config={})
    assert shown["unsubstituted"] == [{"place": "task.config.TABLE", "names": [".proj.DATASET"]}]
    assert shown["envs"]["TABLE"] == "<no value>.orders"


def test_errors_of_templates_are_named_with_their_places(api):
    shown = preview(api, assets={"../x": "", "a.sql": "{{ call .x }}"})
    assert (shown["valid"], shown["envs"], shown["files"]) == (False, {}, {})
    assert {one["place"] for one in shown["diagnostics"]} == {"assets/../x", "assets/a.sql"}


def test_all_mistakes_of_a_job_are_named_with_their_places(api):
    text = JOB.replace("truncate_to: d", "truncate_to: y").replace("owner:", "owned_by:")
    answer = api.post("jobs:validate", {"text": text}).json()
    assert not answer["valid"]
    places = {one["place"]: one["line"] for one in answer["diagnostics"]}
    assert places["/task/window/truncate_to"] == 15
    assert "/owned_by" in places


def test_many_templates_cost_no_more_than_one(api):
    loop = '{{ range list "a" "b" "c" }}' * 9 + "x" + "{{ end }}" * 9
    shown = preview(api, assets={f"file-{number}": loop for number in range(150)})
    assert not shown["valid"]
    assert "more than" in shown["diagnostics"][0]["message"]


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"scheduled_at": "yesterday"}, "/scheduled_at"),
        ({"instance_type": "init"}, "/instance_type"),
        ({"assets": {"a": "x" * 200_000, "b": "x" * 100_000}}, "/assets"),
        ({"assets": ["a"]}, "/assets"),
        ({"secrets": {"A": "b"}}, "/secrets"),
    ],
)
def test_another_body_is_refused(api, changed, pointer):
    answer = api.post("jobs:preview", {**NIGHT, **changed})
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_anybody_with_a_token_may_ask(api):
    assert preview(Api(token_for("viewer")))["valid"]
    assert Api("").post("jobs:preview", NIGHT).status_code == 401
