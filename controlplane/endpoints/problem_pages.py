"""The pages behind the `type` of problem documents: for everybody, without a token."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.views.decorators.http import require_safe

from controlplane import errors
from controlplane.api.problem_types import EXPLANATIONS
from controlplane.api.problems import STATUS_BY_ERROR

# Codes that no class of ours has.
_OTHERS = {
    "internal_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "database_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}
_CLASSES: dict[str, type[errors.ControlplaneError]] = {one.code: one for one in STATUS_BY_ERROR}


@require_safe
def problem_type(request: HttpRequest, code: str) -> HttpResponse:
    """Explain one code."""
    if code not in EXPLANATIONS:
        raise Http404
    explained = describe(code)
    return _answer(request, [explained], explained)


@require_safe
def problem_types(request: HttpRequest) -> HttpResponse:
    """Explain all codes."""
    every = [describe(code) for code in sorted(EXPLANATIONS)]
    return _answer(request, every, {"items": every})


def describe(code: str) -> dict[str, Any]:
    """Return code, title, status, meaning and next step."""
    status, title = _status_and_title(code)
    explanation = EXPLANATIONS[code]
    return {
        "type": f"/problems/{code}",
        "code": code,
        "title": title,
        "status": int(status),
        "meaning": explanation.meaning,
        "next_step": explanation.next_step,
    }


def _status_and_title(code: str) -> tuple[HTTPStatus, str]:
    if kind := _CLASSES.get(code):
        return STATUS_BY_ERROR[kind], kind.title
    status = _OTHERS.get(code) or HTTPStatus[code.upper()]
    return status, status.phrase


def _answer(request: HttpRequest, shown: list[dict[str, Any]], document: dict[str, Any]) -> HttpResponse:
    if "text/html" not in request.headers.get("Accept", ""):
        response: HttpResponse = JsonResponse(document)
    else:
        # Without the request: the page needs neither a session nor the database.
        response = HttpResponse(get_template("controlplane/problems.html").render({"problems": shown}))
    response["Cache-Control"] = "public, max-age=3600"
    response["Vary"] = "Accept"
    return response
