"""Changes that are shown before they are made: a page says what would happen, its button lets it happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.forms import said_in
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, PermissionDenied


@dataclass(frozen=True, slots=True)
class Field:
    """kind: of the input; `checkbox` is said as "on"."""

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    value: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """title: what is asked. facts: what it would do. back: where one goes afterwards, told `done`."""

    title: str
    facts: tuple[str, ...]
    button: str
    back: str
    done: str
    fields: tuple[Field, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    is_grave: bool = False


def confirmed(
    request: HttpRequest, change: Change, act: Callable[[Mapping[str, str]], object]
) -> HttpResponse:
    """Show the change; when it is confirmed, make it. What is refused keeps what was typed."""
    problem, status = None, 200
    if request.method == "POST":
        try:
            with transaction.atomic():
                act(said_in(request))
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
        else:
            messages.success(request, change.done)
            return redirect(change.back)
    fields = [(one, request.POST.get(one.name, one.value)) for one in change.fields]
    context = {"change": change, "fields": fields, "problem": problem}
    return render(request, "console/confirm.html", context, status=status)
