"""Filters of events in forms: their inputs, their text, and the JSON that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.form_fields import Input
from console.forms import split_words
from controlplane.errors import FieldError, InvalidRequest
from controlplane.scopes import SEGMENTS

_LISTS = ("types", "object_types", "teams")
_MOST_SHOWN = 3
INPUTS = (
    Input(
        "types",
        "Event types",
        is_wide=True,
        attributes={"placeholder": "all, or agent.unavailable, project.*", "list": "event-types"},
    ),
    Input("object_types", "Object types", attributes={"placeholder": "all"}),
    Input("teams", "Teams", attributes={"placeholder": "all"}),
    Input("labels", "Labels", attributes={"placeholder": "region=eu, tier=gold"}),
    Input(
        "expression",
        "Expression (CloudEvents SQL)",
        is_wide=True,
        attributes={
            "class": "mono",
            "maxlength": "1024",
            "placeholder": "data.environment IN ('prod') AND EXISTS cpteam",
        },
    ),
    Input(
        "scopes",
        "Scopes",
        "textarea",
        "One per line.",
        is_wide=True,
        attributes={"placeholder": "project=flytesnacks, domain=production"},
    ),
)
NAMES = tuple(item.name for item in INPUTS)


def filter_form(document: Mapping[str, Any]) -> dict[str, str]:
    """Return what the inputs of an existing filter begin with."""
    return {
        "labels": ", ".join(f"{name}={value}" for name, value in document.get("labels", {}).items()),
        "expression": document.get("expression", ""),
        "scopes": "\n".join(map(_scope_line, document.get("scopes", ()))),
        **{name: ", ".join(document.get(name, ())) for name in _LISTS},
    }


def filter_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the filter of the form, without empty parts. Raises InvalidRequest."""
    parts: dict[str, Any] = {name: split_words(form.get(name, "")) for name in _LISTS}
    lines = [line for line in form.get("scopes", "").splitlines() if line.strip()]
    parts["scopes"] = [_pairs(line, "scopes") for line in lines]
    parts["labels"] = _pairs(form.get("labels", ""), "labels")
    parts["expression"] = form.get("expression", "").strip()
    return {name: value for name, value in parts.items() if value}


def describe_filter(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one phrase for each part of a filter, for a cell of a table."""
    form = filter_form(document)
    phrases = [_shortened(document.get("types", ())) or "all events"]
    phrases += [
        f"{word}: {form[name]}"
        for name, word in (("object_types", "objects"), ("teams", "teams"), ("labels", "labels"))
        if form[name]
    ]
    phrases += [f"scope: {line}" for line in form["scopes"].splitlines()[:_MOST_SHOWN]]
    if phases := document.get("phases"):
        phrases.append(f"phases: {', '.join(phases)}")
    return (*phrases, *([form["expression"]] if form["expression"] else []))


def _shortened(names: Any) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _pairs(text: str, name: str) -> dict[str, str]:
    """Return `name=value` pairs that are separated by commas."""
    pairs = {}
    for word in split_words(text):
        key, sign, value = word.partition("=")
        if not sign:
            message = f"{word[:80]!r} is not a pair. Use name=value, separated by commas."
            raise InvalidRequest(message, errors=[FieldError(f"/filter/{name}", "malformed", message)])
        pairs[key.strip()] = value.strip()
    return pairs


def _scope_line(scope: Mapping[str, str]) -> str:
    names = [name for name in SEGMENTS if scope.get(name)]
    return ", ".join(f"{name}={scope[name]}" for name in names)
