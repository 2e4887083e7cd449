"""The form of a sink, and the body of the API's request that it means. Pure except for YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from console.forms import parse_number, split_words
from controlplane.delivery.flavours import NATIVE
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_terms import WEBHOOK
from controlplane.errors import FieldError, InvalidRequest, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.scopes import SEGMENTS

_LISTS = ("types", "object_types", "teams")
_NUMBERS = ("max_in_flight", "per_second")
FIELDS = (
    *("name", "kind", "url", "large", "config", "team", "after", "ordering", "flavour", "reason", "version"),
    *("scopes", "labels", "expression", *_LISTS, *_NUMBERS),
)
EMPTY = {"kind": WEBHOOK, "flavour": NATIVE, "ordering": "object", "max_in_flight": "8", "per_second": "50"}


def form_of(sink: Sink) -> dict[str, str]:
    """Return what the form of an existing sink begins with."""
    parts = sink.filter
    is_webhook = sink.kind == WEBHOOK
    return {
        **dict.fromkeys(FIELDS, ""),
        "name": sink.name,
        "kind": sink.kind,
        "url": sink.config.get("url", ""),
        "large": sink.config.get("large", ""),
        "config": "" if is_webhook else yaml.safe_dump(sink.config, sort_keys=False, allow_unicode=True),
        "ordering": sink.ordering,
        "flavour": sink.flavour,
        "version": str(sink.version),
        "labels": ", ".join(f"{name}={value}" for name, value in parts.get("labels", {}).items()),
        "expression": parts.get("expression", ""),
        "scopes": "\n".join(map(_scope_line, parts.get("scopes", ()))),
        **{name: ", ".join(parts.get(name, ())) for name in _LISTS},
        **{name: str(getattr(sink, name)) for name in _NUMBERS},
    }


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a PUT. Raises InvalidRequest."""
    kind = form.get("kind") or WEBHOOK
    return {
        "name": form.get("name", "").strip(),
        "kind": kind,
        "config": _webhook(form) if kind == WEBHOOK else _config(form.get("config", "")),
        "filter": filter_of(form),
        "ordering": form.get("ordering", ""),
        "flavour": form.get("flavour") or NATIVE,
        **{name: parse_number(form.get(name, "").strip()) for name in _NUMBERS},
    }


def filter_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the filter of the form, without empty parts. Raises InvalidRequest."""
    parts: dict[str, Any] = {name: split_words(form.get(name, "")) for name in _LISTS}
    lines = [line for line in form.get("scopes", "").splitlines() if line.strip()]
    parts["scopes"] = [_pairs(line, "scopes") for line in lines]
    parts["labels"] = _pairs(form.get("labels", ""), "labels")
    parts["expression"] = form.get("expression", "").strip()
    return {name: value for name, value in parts.items() if value}


def _webhook(form: Mapping[str, str]) -> dict[str, str]:
    large = form.get("large", "")
    return {"url": form.get("url", "").strip(), **({"large": large} if large else {})}


def _config(text: str) -> Any:
    try:
        return strict_yaml.load(text) if text.strip() else {}
    except MalformedBody as error:
        message = f"The settings are neither YAML nor JSON: {error.detail}"
        raise InvalidRequest(message, errors=error.errors) from error


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
