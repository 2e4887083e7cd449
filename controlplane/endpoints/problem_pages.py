"""Pages for the `type` URLs of problem documents, readable without a token."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.views.decorators.http import require_safe

from controlplane import errors
from controlplane.api.problem_types import EXPLANATIONS
from controlplane.api.problems import STATUS_BY_ERROR

# Codes without an error class.
_OTHER_STATUSES = {
    "internal_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "database_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "read_only": HTTPStatus.SERVICE_UNAVAILABLE,
    "outcome_unknown": HTTPStatus.SERVICE_UNAVAILABLE,
}
_CLASSES: dict[str, type[errors.ControlplaneError]] = {error.code: error for error in STATUS_BY_ERROR}


@require_safe
def problem_type(request: HttpRequest, code: str) -> HttpResponse:
    """Return the explanation of one problem code."""
    if code not in EXPLANATIONS:
        raise Http404
    explanation = describe(code)
    return _answer(request, [explanation], explanation)


@require_safe
def problem_types(request: HttpRequest) -> HttpResponse:
    """Return the explanations of all problem codes."""
    explanations = [describe(code) for code in sorted(EXPLANATIONS)]
    return _answer(request, explanations, {"items": explanations})


def describe(code: str) -> dict[str, Any]:
    """Return the problem type: code, title, status, meaning and next step."""
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
    status = _OTHER_STATUSES.get(code) or HTTPStatus[code.upper()]
    return status, status.phrase


def _answer(request: HttpRequest, problems: list[dict[str, Any]], document: dict[str, Any]) -> HttpResponse:
    if "text/html" not in request.headers.get("Accept", ""):
        response: HttpResponse = JsonResponse(document)
    else:
        # Without the request, so that the page needs neither a session nor the database.
        response = HttpResponse(get_template("controlplane/problems.html").render({"problems": problems}))
    response["Cache-Control"] = "public, max-age=3600"
    response["Vary"] = "Accept"
    return response
