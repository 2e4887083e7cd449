"""Log lines without secrets: tokens keep only what lists show, and sensitive parameters no value."""

from __future__ import annotations

import json
import logging

import pytest
import structlog
from django.conf import settings

from controlplane.access.tokens import Prefix, hint, new_token
from controlplane.observability.log_redaction import redact, redacted
from controlplane.settings.logs import LOGGING


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_token_keeps_its_hint(prefix):
    token = new_token(prefix)

    assert redacted(f"Bearer {token}, sent") == f"Bearer {hint(token)}…, sent"
    assert redacted(f"hint {hint(token)}") == f"hint {hint(token)}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET /callback?code=abc&state=def&iss=x", "GET /callback?code=…&state=…&iss=x"),
        ("GET /device?user_code=BCDF-GHJK", "GET /device?user_code=…"),
        ("GET /x?PASSWORD=a%20b&page=2", "GET /x?PASSWORD=…&page=2"),
        ("GET /x?encode=abc&recode=1", "GET /x?encode=abc&recode=1"),
        ("code=7 is an exit code", "code=7 is an exit code"),
        ("nothing", "nothing"),
    ],
)
def test_sensitive_parameters_lose_their_values(line, expected):
    assert redacted(line) == expected


def test_every_text_of_a_line_is_redacted_and_other_values_stay():
    event = {"event": "x", "request": "GET /a?token=secret", "count": 3, "items": ["a"]}

    assert redact(None, "info", event) == {**event, "request": "GET /a?token=…"}


def test_lines_of_ours_and_of_libraries_are_redacted():
    foreign = settings.LOGGING["formatters"]["line"]["foreign_pre_chain"]

    assert foreign[-1] is redact
    assert redact in structlog.get_config()["processors"]


def test_the_fields_of_plain_loggers_are_logged_without_secrets():
    formatter = dict(LOGGING["formatters"]["line"])
    make = formatter.pop("()")
    record = logging.makeLogRecord(
        {
            "name": "controlplane.messaging.streams",
            "levelname": "ERROR",
            "msg": "stream_differs",
            "stream": "dcm-status",
            "error": "Authorization: Bearer cp_pat_abcdefghijklmnopqrstuvwxyz123456",
            "request": object(),
        }
    )

    line = json.loads(make(**formatter).format(record))

    assert (line["event"], line["stream"]) == ("stream_differs", "dcm-status")
    assert "cp_pat_abcdefghijkl" not in line["error"]
    assert "request" not in line
