"""The API reference: an index with a filter, and a page for each operation."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.api_reference.library import library
from console.cpctl_commands import curl
from console.pages import page
from controlplane.errors import NotFound
from controlplane.identity.callers import Caller

_API = "/api/v1/"


@page
def index(request: HttpRequest, caller: Caller) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:200]
    groups = library().find(text)
    context = {"groups": groups, "text": text, "count": sum(len(group.operations) for group in groups)}
    return render(request, "console/api_reference/index.html", context)


@page
def operation(request: HttpRequest, caller: Caller, operation_id: str) -> HttpResponse:
    selected = library().by_id.get(operation_id)
    if selected is None:
        raise NotFound(f"The API has no operation {operation_id[:80]!r}. Choose one from the API reference.")
    command = ""
    if selected.path.startswith(_API):
        command = curl(request, selected.method, selected.path.removeprefix(_API), _as_json(selected.example))
    return render(request, "console/api_reference/operation.html", {"operation": selected, "curl": command})


def _as_json(example: str) -> object:
    try:
        return json.loads(example) if example else None
    except ValueError:  # an example in YAML
        return None
