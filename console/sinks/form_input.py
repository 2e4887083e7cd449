"""The form of a sink, and the body of the API's request that it means. Pure except for YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from console import event_filters
from console.event_filters import filter_form, filter_of
from console.forms import parse_number, parse_settings
from controlplane.delivery.flavours import NATIVE
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_terms import WEBHOOK

_NUMBERS = ("max_in_flight", "per_second")
FIELDS = (
    *("name", "kind", "url", "large", "mode", "config", "team", "after", "ordering", "flavour"),
    *("reason", "version"),
    *event_filters.NAMES,
    *_NUMBERS,
)
EMPTY = {"kind": WEBHOOK, "flavour": NATIVE, "ordering": "object", "max_in_flight": "8", "per_second": "50"}


def form_of(sink: Sink) -> dict[str, str]:
    """Return what the form of an existing sink begins with."""
    is_webhook = sink.kind == WEBHOOK
    return {
        **dict.fromkeys(FIELDS, ""),
        "name": sink.name,
        "kind": sink.kind,
        "url": sink.config.get("url", ""),
        "large": sink.config.get("large", ""),
        "mode": sink.config.get("mode", ""),
        "config": "" if is_webhook else yaml.safe_dump(sink.config, sort_keys=False, allow_unicode=True),
        "ordering": sink.ordering,
        "flavour": sink.flavour,
        "version": str(sink.version),
        **filter_form(sink.filter),
        **{name: str(getattr(sink, name)) for name in _NUMBERS},
    }


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a PUT. Raises InvalidRequest."""
    kind = form.get("kind") or WEBHOOK
    return {
        "name": form.get("name", "").strip(),
        "kind": kind,
        "config": _webhook(form) if kind == WEBHOOK else parse_settings(form.get("config", "")),
        "filter": filter_of(form),
        "ordering": form.get("ordering", ""),
        "flavour": form.get("flavour") or NATIVE,
        **{name: parse_number(form.get(name, "").strip()) for name in _NUMBERS},
    }


def _webhook(form: Mapping[str, str]) -> dict[str, str]:
    chosen = {name: form.get(name, "") for name in ("large", "mode")}
    return {"url": form.get("url", "").strip(), **{name: value for name, value in chosen.items() if value}}
