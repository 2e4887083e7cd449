"""OpenAPI examples of stored jobs, variables, secrets, runs and inputs."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-24T02:00:00Z"
_RUN_ID = "019ab4c1-2000-7000-8000-000000000031"
_RELEASE_ID = "019ab4c1-2000-7000-8000-000000000001"
_TEXT = """version: 2
name: orders.daily
owner: shop-team
schedule: {start_date: "2026-11-01", interval: "0 2 * * *"}
task:
  name: bq2bq
  config: {TABLE: "{{.proj.DATASET}}.orders", PASSWORD: "{{.secret.warehouse}}"}
  window: {size: 24h, offset: "0", truncate_to: d}
"""
_SUMMARY: dict[str, Any] = {
    "project": "shop",
    "name": "orders.daily",
    "namespace": "",
    "team": None,
    "owner": "shop-team",
    "task": "bq2bq",
    "hooks": [],
    "version": 1,
    "changed_at": _WHEN,
    "changed_by": "ada",
}
_ASSETS = {"query.sql": "select * from orders where day >= '{{.DSTART}}'"}
_JOB: dict[str, Any] = {**_SUMMARY, "text": _TEXT, "assets": _ASSETS, "sensitive_assets": []}
_VARIABLES: dict[str, Any] = {
    "project": "shop",
    "namespace": "",
    "variables": {"DATASET": "sales"},
    "version": 1,
}
_SECRET: dict[str, Any] = {
    "project": "shop",
    "namespace": "",
    "name": "warehouse",
    "version": 1,
    "changed_at": _WHEN,
    "changed_by": "ada",
}
_RUN: dict[str, Any] = {
    "id": _RUN_ID,
    "external_id": "scheduled__2026-11-24T02:00:00+00:00",
    "scheduled_at": _WHEN,
    "started_at": _WHEN,
    "overrides": {},
    "releases": {"bq2bq": _RELEASE_ID},
    "created_by": "airflow",
}
_INPUT: dict[str, Any] = {
    "run": _RUN,
    "release": {"id": _RELEASE_ID, "number": 7, "team": None},
    "image": "registry.example.com/bq2bq:1.4.2",
    "init_image": "",
    "shell": "/bin/sh",
    "script": "python3 /opt/bq2bq/main.py",
    "envs": {"TABLE": "sales.orders", "DSTART": "2026-11-23T00:00:00Z", "DEND": "2026-11-24T00:00:00Z"},
    "secrets": {"PASSWORD": "<SECRET:warehouse>"},
    "files": {
        "query.sql": {
            "text": "select * from orders where day >= '2026-11-23T00:00:00Z'",
            "sensitive": False,
        }
    },
    "unsubstituted": [],
}


def _answer(name: str, value: Any, *status_codes: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(status_codes) or None)


def _body(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


def _page(item: dict[str, Any]) -> dict[str, Any]:
    return {"items": [item], "next_cursor": None}


JOBS = _answer("Jobs", _page(_SUMMARY))
JOB = _answer("Job", _JOB)
JOB_WRITE = _body("Job", {"text": _TEXT, "assets": _ASSETS})
JOB_WRITTEN = _answer("Job", {**_JOB, "warnings": []})
VARIABLES = _answer("Variables", _VARIABLES)
VARIABLES_WRITE = _body("Variables", {"variables": {"DATASET": "sales"}})
SECRETS = _answer("Secrets", _page(_SECRET))
SECRET = _answer("Secret", _SECRET)
SECRET_WRITE = _body("Secret", {"value": "a-password"})
RUNS = _answer("Runs", _page(_RUN))
RUN = _answer("Run that there is", _RUN, "200")
RUN_CREATED = _answer("New run", _RUN, "201")
RUN_WRITE = _body("Run", {"scheduled_at": _WHEN, "external_id": _RUN["external_id"]})
RUN_INPUT_WRITE = _body("By time", {"scheduled_at": _WHEN, "instance_type": "task"})
RUN_INPUT = _answer("Input", _INPUT)
