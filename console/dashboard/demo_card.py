"""The card that leads through the demo, on the dashboard of an installation that plays it."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

_COOKIE = "cp-demo-card"
_WORKFLOW = "?project=storefront&domain=production&workflow=rank_products"


@dataclass(frozen=True, slots=True)
class Stop:
    """A page of the tour in docs/tour.md, and what to see there."""

    question: str
    url: str
    answer: str


def demo_stops(request: HttpRequest) -> list[Stop]:
    """Return the stops; none without the demo, or once the card was dismissed."""
    if not settings.DEMO_RECEIVER or request.COOKIES.get(_COOKIE) == "off":
        return []
    return [
        Stop("Why is the limit 12 cores?", reverse("overrides") + _WORKFLOW, "Each value names its source."),
        Stop(
            "Who changed it, and when?",
            reverse("override-history", args=["task_resource"]) + "?project=storefront",
            "Four versions by two people.",
        ),
        Stop(
            "What changes by itself?",
            reverse("overrides") + "?project=forecasting&domain=development",
            "8 GPUs until Friday.",
        ),
        Stop("Which agents are odd?", reverse("agents") + "?environment=staging", "One flaps, one is late."),
        Stop("Who publishes what?", reverse("agent-config-conflicts"), "Two teams claim one task type."),
        Stop(
            "Who waits for GPUs?",
            reverse("pool", args=["gpu-a100"]),
            "Eight are in use, three requests wait.",
        ),
    ]
