"""The log line of a request: which route, how long, who, and in which trace."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from logging.config import dictConfig
from typing import Any

import pytest
from django.conf import settings

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def lines(capsys) -> Iterator[Any]:
    """The lines at their level in production, as JSON."""
    dictConfig({**settings.LOGGING, "root": {"handlers": ["out"], "level": "INFO"}})
    text = io.StringIO()
    (handler,) = (each for each in logging.getLogger().handlers if type(each) is logging.StreamHandler)
    handler.setStream(text)
    yield lambda: [json.loads(line) for line in text.getvalue().splitlines() if line.startswith("{")]
    dictConfig(settings.LOGGING)


def test_the_line_of_a_request_has_route_duration_principal_and_trace(api, db, lines):
    api.put("pools/snowflake", {"capacity": 1}, traceparent=f"00-{TRACE}-{SPAN}-01")
    (line,) = (line for line in lines() if line.get("event") == "request_finished")
    assert line["route"] == "api/v1/pools/<str:pool>"
    assert line["duration_ms"] > 0
    assert line["principal"].startswith("admin")
    assert (line["trace_id"], line["span_id"]) == (TRACE, SPAN)
    assert line["code"] == 201
    assert "team" not in line


def test_the_line_of_a_request_without_a_token_names_nobody(client, db, lines):
    client.get("/api/v1/pools")
    (line,) = (line for line in lines() if line.get("event") == "request_finished")
    assert "principal" not in line
    assert "trace_id" not in line
