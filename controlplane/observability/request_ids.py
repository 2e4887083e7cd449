"""The request's id: taken from the caller if it is harmless, else made here; in every log line and answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from random import getrandbits

import structlog
from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
_META = "HTTP_X_REQUEST_ID"
# A forged id could forge log lines (reliability.md 3.5).
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")
# RFC 9562: the two highest bits of the fourth group are 1 and 0.
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


class RequestIdMiddleware:
    """Stands first: everything after it logs with the id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Not by request.headers: that copy is made once, and django_structlog must read our choice.
        request_id = choose(request.META.get(_META))
        request.META[_META] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response[HEADER] = request_id
        return response


def choose(sent: str | None) -> str:
    return sent if sent and _HARMLESS.fullmatch(sent) else new_request_id()


def current_request_id() -> str:
    """The id of the request (or Celery task) under way; empty outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def new_request_id() -> str:
    """A UUIDv7 as `ids.uuid7` makes it, straight as text: a third of the time, which shows here."""
    number = f"{time.time_ns() // 1_000_000:012x}7{getrandbits(76):019x}"
    return f"{number[:8]}-{number[8:12]}-{number[12:16]}-{_VARIANT[number[16]]}{number[17:20]}-{number[20:]}"
