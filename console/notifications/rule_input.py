"""The form of a rule, and the body of the API's request that it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console import event_filters
from console.form_fields import Input
from console.forms import parse_number, split_words
from console.notifications.quiet_windows import windows_of, windows_text
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.rule_checks import PHASES
from controlplane.notifications.rules import Mode, Severity

MOST_CHANNELS = 10
_FEWEST_CHANNELS = 3
_SEVERITIES = tuple((severity.value, severity.value) for severity in Severity)
_MODES = (
    (Mode.EACH.value, "each: a message per alert"),
    (Mode.DIGEST.value, "digest: one per window"),
    (Mode.PAGED.value, "paged: at once, even in quiet hours"),
)
_SECONDS = {"min": "1", "max": "86400"}

RULE = (
    Input("name", "Name", attributes={"maxlength": "63", "required": "required"}),
    Input("severity", "Severity", "select", choices=_SEVERITIES),
)
ACTIVE = Input("is_active", "Active", "checkbox")
WHEN = (
    *event_filters.INPUTS,
    Input(
        "phases",
        "Workflow phases",
        "checks",
        "Only for Flyte's workflow events.",
        choices=tuple((phase, phase.replace("_", " ").lower()) for phase in PHASES),
        is_wide=True,
    ),
)
SENDING = (
    Input("mode", "Mode", "select", choices=_MODES, is_wide=True),
    Input("digest_seconds", "Digest window (s)", "number", attributes=_SECONDS),
    Input("max_per_hour", "Most per hour", "number", attributes={"min": "1", "max": "3600"}),
    Input(
        "escalate_seconds",
        "Escalate after (s)",
        "number",
        attributes={"min": "30", "max": "86400", "placeholder": "never"},
    ),
    Input(
        "retract",
        "Retract alerts",
        "checkbox",
        "Opposite events, such as agent.ready, end alerts.",
        is_wide=True,
    ),
)
QUIET = (
    Input("tz", "Time zone", attributes={"maxlength": "64", "placeholder": "Europe/Prague", "list": "zones"}),
    Input(
        "windows",
        "Windows",
        "textarea",
        "One per line. Without days: every day. Without windows: messages never wait.",
        is_wide=True,
        attributes={"placeholder": "mon-fri 22:00-07:00"},
    ),
    Input("except", "Excepted severities", "checks", choices=_SEVERITIES),
)
TEXT = (
    Input("subject", "Subject", is_wide=True, attributes={"maxlength": "500", "placeholder": "default"}),
    Input("dedupe_key", "Alert key", attributes={"maxlength": "255", "placeholder": "the object"}),
    Input("body", "Body", "textarea", is_wide=True, attributes={"placeholder": "default"}),
)
TEAM = Input("team", "Team", attributes={"maxlength": "63", "placeholder": "default", "list": "teams"})
REASON = Input("reason", "Reason", attributes={"maxlength": "500"})

INPUTS = (*RULE, TEAM, ACTIVE, *WHEN, *SENDING, *QUIET, *TEXT, REASON)
NAMES = (*(item.name for item in INPUTS), "to", "version")
# These have several values in one request.
LISTS = ("to", "phases", "except")
_NUMBERS = ("digest_seconds", "max_per_hour", "escalate_seconds")
_FLAGS = ("is_active", "retract")
_TEXTS = ("mode", "severity", "dedupe_key", "subject", "body")
EMPTY = {
    **dict.fromkeys(NAMES, ""),
    **{"mode": Mode.EACH.value, "severity": Severity.WARNING.value, "is_active": "on", "retract": "on"},
    **{"digest_seconds": "60", "max_per_hour": "60"},
}


def form_of(rule: NotificationRule) -> dict[str, str]:
    """Return what the form of an existing rule begins with."""
    numbers = {name: getattr(rule, name) for name in _NUMBERS}
    return {
        **EMPTY,
        "name": rule.name,
        "version": str(rule.version),
        "to": ", ".join(rule.to),
        **event_filters.filter_form(rule.when),
        "phases": ", ".join(rule.when.get("phases", ())),
        "tz": rule.quiet_hours.get("tz", ""),
        "windows": windows_text(rule.quiet_hours),
        "except": ", ".join(rule.quiet_hours.get("except", ())),
        **{name: getattr(rule, name) for name in _TEXTS},
        **{name: "" if number is None else str(number) for name, number in numbers.items()},
        **{name: "on" if getattr(rule, name) else "" for name in _FLAGS},
    }


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a PUT. Raises InvalidRequest."""
    phases, quiet = split_words(form.get("phases", "")), _quiet_hours(form)
    numbers = {name: form.get(name, "").strip() for name in _NUMBERS}
    return {
        "name": form.get("name", "").strip(),
        "when": {**event_filters.filter_of(form), **({"phases": phases} if phases else {})},
        "to": split_words(form.get("to", "")),
        **({"quiet_hours": quiet} if quiet else {}),
        **{name: form.get(name, "") for name in _TEXTS},
        **{name: parse_number(text) for name, text in numbers.items() if text},
        **{name: bool(form.get(name)) for name in _FLAGS},
    }


def channel_places(form: Mapping[str, str]) -> list[str]:
    """Return the chosen channels in order, with empty places for others."""
    chosen = split_words(form.get("to", ""))
    places = min(max(_FEWEST_CHANNELS, len(chosen) + 1), MOST_CHANNELS)
    return chosen + [""] * (places - len(chosen))


def _quiet_hours(form: Mapping[str, str]) -> dict[str, Any]:
    windows, zone = windows_of(form.get("windows", "")), form.get("tz", "").strip()
    excepted = split_words(form.get("except", ""))
    if not windows and not zone:
        return {}
    return {"tz": zone or "UTC", "windows": windows, **({"except": excepted} if excepted else {})}
