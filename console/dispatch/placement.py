"""The page that explains why a resource has its agent, or none."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import get_resource
from console.pages import page
from controlplane.identity.callers import Caller
from registry.dispatch.models import TimelineRow
from registry.dispatch.placement.candidates import AgentVerdict
from registry.dispatch.placement.scores import WEIGHTS
from registry.dispatch.resources.explain import explain_resource


@page
def placement(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = get_resource(caller, resource_id)
    explanation = explain_resource(row.id, caller)
    context = {
        "resource": row,
        "choices": TimelineRow.objects.filter(resource=row, what="assigned").order_by("-id"),
        "explanation": explanation,
        "verdicts": shown_verdicts(explanation.verdicts),
        "weights": WEIGHTS,
        "copies": {
            "curl": curl(request, "POST", "placements:explain", {"resource_id": row.id}),
            "cpctl": cpctl("resources", "explain", row.id),
        },
    }
    return render(request, "console/dispatch/placement.html", context)


def shown_verdicts(verdicts: Iterable[AgentVerdict]) -> list[tuple[AgentVerdict, list[tuple[str, float]]]]:
    """Return each verdict with the parts of its score that are not zero."""
    return [(verdict, [part for part in verdict.score.items() if part[1]]) for verdict in verdicts]
