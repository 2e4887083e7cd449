"""Confirmation pages: show the effects of a change, and apply it when the user confirms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.forms import read_form
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest, PermissionDenied


@dataclass(frozen=True, slots=True)
class Field:
    """An input of the form. kind: its HTML type; a checked `checkbox` sends "on"."""

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    value: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change to confirm. facts: its effects. back: URL to return to, with the message `done`."""

    title: str
    facts: tuple[str, ...]
    button: str
    back: str
    done: str
    fields: tuple[Field, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    is_destructive: bool = False


@dataclass(frozen=True, slots=True)
class Next:
    """The page of what a change has made."""

    url: str


def confirm_change(
    request: HttpRequest, change: Change, act: Callable[[Mapping[str, str]], object]
) -> HttpResponse:
    """Show the change, and apply it once confirmed. After an error the form keeps its input.

    act: may return a Next, which is opened instead of `change.back`.
    """
    problem, status = None, 200
    if request.method == "POST":
        try:
            with transaction.atomic():
                made = act(read_form(request))
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
        else:
            messages.success(request, change.done)
            return redirect(made.url if isinstance(made, Next) else change.back)
    fields = [(item, request.POST.get(item.name, item.value)) for item in change.fields]
    context = {"change": change, "fields": fields, "problem": problem}
    return render(request, "console/confirm.html", context, status=status)


def require_typed(form: Mapping[str, str], name: str, text: str) -> None:
    """Raise InvalidRequest unless a field of the form has the text that confirms the change."""
    if form.get(name, "").strip() != text:
        message = f"To confirm, enter {text} exactly."
        raise InvalidRequest(message, errors=[FieldError(f"/{name}", "invalid", message)])
