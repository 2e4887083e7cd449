"""The form of a guard rail: its values as text, and the body of the API that they mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controlplane.errors import FieldError, InvalidRequest, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.scopes import SEGMENTS
from overrides.models import GuardRailRow

_TEXTS = ("name", "resource_type", "pointer", "lock_below", "minimum", "maximum", "allowed", "reason")
# Characters that end a value in a list on one line.
_SPECIAL = frozenset(",[]{}\n")
NAMES = (*_TEXTS, *SEGMENTS)


def read_form(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each field, also of those that are missing."""
    return {name: str(values.get(name, "")).strip() for name in NAMES}


def form_of(row: GuardRailRow) -> dict[str, str]:
    """Return the form of a stored guard rail."""
    rule = row.rule
    return {
        "name": row.name,
        "resource_type": row.resource_type,
        "pointer": row.pointer,
        "lock_below": rule.get("lock_below", ""),
        "minimum": _text(rule.get("minimum")),
        "maximum": _text(rule.get("maximum")),
        "allowed": ", ".join(_text(value) for value in rule.get("allowed", ())),
        "reason": row.reason,
        **row.scope.segments,
    }


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API without empty parts. Raises InvalidRequest."""
    rule: dict[str, Any] = {"lock_below": form["lock_below"]} if form["lock_below"] else {}
    for name in ("minimum", "maximum"):
        if form[name]:
            rule[name] = _value(form[name], name)
    if form["allowed"]:
        rule["allowed"] = _value(f"[{form['allowed']}]", "allowed")
    scope = {name: form[name] for name in SEGMENTS if form[name]}
    return {
        "name": form["name"],
        "resource_type": form["resource_type"],
        "pointer": form["pointer"],
        "rule": rule,
        **({"scope": scope} if scope else {}),
        **({"reason": form["reason"]} if form["reason"] else {}),
    }


def describe_rule(rule: Mapping[str, Any]) -> str:
    """Describe the limits in one line."""
    phrases = []
    if "minimum" in rule:
        phrases.append(f"at least {_text(rule['minimum'])}")
    if "maximum" in rule:
        phrases.append(f"at most {_text(rule['maximum'])}")
    if "allowed" in rule:
        phrases.append(f"one of {', '.join(map(_text, rule['allowed']))}")
    if "lock_below" in rule:
        phrases.append(f"locked below the level {rule['lock_below']}")
    return "; ".join(phrases)


def _text(value: Any) -> str:
    """Return the value as YAML on one line, so that the text means the same value again."""
    if value is None:
        return ""
    text = strict_yaml.dump(value).removesuffix("...\n").strip()
    is_special = isinstance(value, str) and (not text or _SPECIAL & set(text))
    return json.dumps(value, ensure_ascii=False) if is_special else text


def _value(text: str, name: str) -> Any:
    """Read a value as YAML does: 8 is a number, 500m a text."""
    try:
        return strict_yaml.load(text)
    except MalformedBody as error:
        message = f"The value of {name} is not valid: {error.detail}"
        raise InvalidRequest(message, errors=[FieldError(f"/rule/{name}", "malformed", message)]) from error
