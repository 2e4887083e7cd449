"""Examples for openapi.yaml: a nightly job that fills a table."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

JOB = """\
version: 2
name: shop.orders.daily
owner: data-team
schedule:
  start_date: "2026-01-26"
  interval: 0 2 * * *
task:
  name: bq2bq
  config:
    TABLE: "{{ .proj.DATASET }}.orders"
    PASSWORD: "{{ .secret.DB_PASSWORD }}"
  window:
    size: 24h
    offset: "0"
    truncate_to: d
"""
JOB_WRITE = OpenApiExample("A job", value={"text": JOB}, request_only=True)
_VALID = {"valid": True, "name": "shop.orders.daily", "diagnostics": []}
VALIDATION = OpenApiExample("A valid job", value=_VALID, response_only=True)
PREVIEW_WRITE = OpenApiExample(
    "A night",
    value={
        "text": JOB,
        "scheduled_at": "2026-11-23T02:00:00Z",
        "project": "shop",
        "config": {"DATASET": "warehouse"},
        "secret_names": ["DB_PASSWORD"],
        "assets": {"query.sql": "SELECT * FROM orders WHERE day = '{{ .DSTART | Date }}'"},
    },
    request_only=True,
)
PREVIEW = OpenApiExample(
    "Its input",
    value={
        **_VALID,
        "envs": {
            "TABLE": "warehouse.orders",
            "DSTART": "2026-11-22T00:00:00Z",
            "DEND": "2026-11-23T00:00:00Z",
        },
        "secrets": {"PASSWORD": "<SECRET:DB_PASSWORD>"},
        "files": {"query.sql": {"text": "SELECT * FROM orders WHERE day = '2026-11-22'", "sensitive": False}},
        "unsubstituted": [],
    },
    response_only=True,
)
