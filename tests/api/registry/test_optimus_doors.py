"""Doors for unchanged clients of Optimus: shut by default, and in Optimus' wire format when open."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.roles import Role
from registry.jobs.models import JobRun
from tests.support.api_client import Api, make_project, token_for
from tests.support.plugin_sets import release_plugins

pytestmark = pytest.mark.django_db
AT = "2026-11-24T02:00:00Z"
DOOR = "/api/v1beta1/project/shop/job/orders.daily/run_input"
VALUE = 'it\'s $HOME "q"\né'
JOB = """version: 2
name: orders.daily
owner: shop-team
schedule: {start_date: "2026-11-01"}
task:
  name: bq
  config: {TABLE: "orders", PASSWORD: "{{.secret.warehouse}}"}
  window: {size: 24h, offset: "0", truncate_to: d}
"""


@pytest.fixture
def api(db: None, settings: Any) -> Api:
    settings.OPTIMUS_COMPAT = True
    make_project("shop")
    api = Api(token_for(Role.ADMIN))
    body = {"text": JOB, "assets": {"query.sql": "select '{{.DSTART}}'"}}
    assert api.put("jobs/shop/orders.daily", body).status_code == 200
    assert api.put("job-secrets/shop/warehouse", {"value": VALUE}).status_code == 200
    release_plugins("bq", "mail")
    return api


def test_shut_doors_answer_as_unknown_paths(api, settings):
    settings.OPTIMUS_COMPAT = False
    unknown = api.post("/api/v1beta1/unknown", {}).json()
    shut = api.post(DOOR, {}).json()
    assert shut["code"] == unknown["code"] == "not_found"
    assert api.get("/plugins").headers["Content-Type"] != "application/zip"


def test_plugins_are_a_zip_of_specifications_with_an_etag(api):
    answer = api.get("/plugins")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip")
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert names == ["optimus-plugin-bq.yaml", "optimus-plugin-mail.yaml"]
    assert "Last-Modified" in answer.headers
    assert api.get("/plugins", If_None_Match=answer.headers["ETag"]).status_code == 304


def test_plugins_need_a_token_and_browsers_get_the_page(api):
    assert Api().get("/plugins").status_code == 401
    page = Api().get("/plugins", Accept="text/html")
    assert page.headers.get("Content-Type") != "application/zip"
    assert page.status_code != 401


def test_plugin_sync_of_optimus_gets_the_zip_where_everybody_may_read(api, settings):
    """Its request as recorded of raystack/optimus 5874457c: neither a token nor Accept."""
    recorded = {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}
    assert Client(headers=recorded).get("/plugins").status_code == 401
    settings.ANONYMOUS_READ = True
    answer = Client(headers=recorded).get("/plugins")
    assert (answer.status_code, answer.headers.get("Content-Encoding")) == (200, None)
    assert len(zipfile.ZipFile(io.BytesIO(answer.content)).namelist()) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"scheduled_at": AT, "instance_name": "bq", "instance_type": "TYPE_TASK"},
        {"scheduledAt": AT, "instanceName": "bq", "instanceType": 1, "jobrunId": ""},
    ],
)
def test_a_run_input_has_maps_of_strings(api, body):
    for _ in range(2):
        answer = api.post(DOOR, body)
        assert answer.status_code == 200, answer.json()
        got = answer.json()
        assert set(got) == {"envs", "files", "secrets"}
        assert got["secrets"] == {"PASSWORD": VALUE}
        assert got["files"]["query.sql"] == "select '2026-11-23T00:00:00Z'"
    assert JobRun.objects.count() == 1


@pytest.mark.parametrize(
    ("token", "body", "status", "code"),
    [
        (True, {"scheduled_at": AT, "instance_type": "TYPE_UNSPECIFIED"}, 400, 3),
        (True, {"scheduled_at": "soon", "instance_type": "TYPE_TASK"}, 400, 3),
        (True, [1], 400, 3),
        (True, {"scheduled_at": AT, "instance_type": "TYPE_HOOK", "instance_name": "x"}, 404, 5),
        (False, {"scheduled_at": AT, "instance_type": "TYPE_TASK"}, 401, 16),
    ],
)
def test_errors_have_the_form_of_grpc_gateway(api, token, body, status, code):
    answer = (api if token else Api()).post(DOOR, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"code", "message", "details"}
