"""Delivery loops: a change that our own webhook caused, by a receiver that passes its headers on, is refused.

Each such change would be an event, the event a delivery, and the delivery the cause of the next change
(events-out.md 2).
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from controlplane.api.problems import plain_response
from controlplane.delivery.origins import origin
from controlplane.delivery.webhooks import LOOP_HEADER
from controlplane.errors import DeliveryLoop

_META = "HTTP_" + LOOP_HEADER.upper().replace("-", "_")
# Several control planes may react to each other's webhooks, but not for ever.
_MOST_HOPS = 3
_READING = ("GET", "HEAD", "OPTIONS")


class DeliveryLoopMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        passed = request.META.get(_META)
        if passed and request.method not in _READING and comes_back(passed, origin().name):
            return plain_response(
                DeliveryLoop(
                    f"The request has the header {LOOP_HEADER} of a webhook of this control plane: the change"
                    " would cause the next webhook. Leave out this header."
                )
            )
        return self.get_response(request)


def comes_back(passed: str, own_name: str) -> bool:
    """True if the installations that a request has passed include this one, or are too many. Pure.

    passed: their names, separated by commas.
    """
    names = [name.strip() for name in passed.split(",")]
    return own_name in names or len(names) > _MOST_HOPS
