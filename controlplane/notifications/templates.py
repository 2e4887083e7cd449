"""Templates of messages: `{{ name }}` with Flyte's variables and ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from controlplane.delivery.logged_event import LoggedEvent
from controlplane.errors import FieldError, InvalidRequest

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
MOST_RENDERED = 16_384
_MOST_VALUE = 4_096
_CUT = "… (cut)"

Values = Callable[[str], str]

# Flyte's (flyteadmin, notifications/email.go), with the identifiers' parts.
_IDENTIFIERS = ("workflow", "launch_plan")
FLYTE_VARIABLES = frozenset(
    {
        *("project", "domain", "name", "phase", "error"),
        *(f"{kind}.{part}" for kind in _IDENTIFIERS for part in ("project", "domain", "name", "version")),
    }
)
OUR_VARIABLES = frozenset(
    {
        *("event.type", "event.id", "event.at", "event.actor", "event.meaning"),
        *("object.type", "object.id", "team", "rule", "severity"),
    }
)


def check_template(text: str, pointer: str, data_names: Collection[str]) -> None:
    """Raise InvalidRequest for a variable that no event has. data_names: the fields of the events' data."""
    for name in _VARIABLE.findall(text):
        if not _is_known(name, data_names):
            raise _error(pointer, _unknown(name, data_names))
    rest = _VARIABLE.sub("", text)
    if "{{" in rest:
        at = rest.index("{{")
        raise _error(
            pointer, f"The template cannot be read from {rest[at : at + 20]!r}. Write {{{{ name }}}}."
        )


def render(text: str, values: Values) -> str:
    """Return the text with its variables replaced, at most 16,384 characters of it."""
    parts, size, position = [], 0, 0
    for match in _VARIABLE.finditer(text):
        for part in (text[position : match.start()], cut(values(match[1]), _MOST_VALUE)):
            parts.append(part)
            size += len(part)
        position = match.end()
        if size > MOST_RENDERED:
            break
    return cut("".join([*parts, text[position:]]), MOST_RENDERED)


def render_line(text: str, values: Values, *, most: int = 200) -> str:
    """Return the rendered text as one line: line breaks and other control characters become spaces."""
    return one_line(render(text, values), most=most)


def one_line(text: str, *, most: int = 200) -> str:
    printable = "".join(character if character.isprintable() else " " for character in text[:MOST_RENDERED])
    return cut(" ".join(printable.split()), most)


def cut(text: str, most: int) -> str:
    """Return the text, shortened to so many characters with a mark."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def event_values(event: LoggedEvent, *, meaning: str = "", rule: str = "", severity: str = "") -> Values:
    """Return a function from the name of a variable to its value for this event; empty if it has none."""
    ours = {
        "event.type": event.type,
        "event.id": str(event.id),
        "event.at": event.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "event.actor": event.actor,
        "event.meaning": meaning,
        "object.type": event.object_type,
        "object.id": event.object_id,
        "team": event.team,
        "rule": rule,
        "severity": severity,
    }

    def value(name: str) -> str:
        if name in ours:
            return ours[name]
        if name.startswith("data."):
            return _text(_read(event.data, name.split(".")[1:]))
        return _flyte_value(event, name)

    return value


def _flyte_value(event: LoggedEvent, name: str) -> str:
    execution = event.data.get("event")
    execution = execution if isinstance(execution, Mapping) else {}
    first, _, rest = name.partition(".")
    if first in _IDENTIFIERS:
        return _identifier_part(event, execution, first, rest)
    if name == "phase":
        return _text(execution.get("phase")).lower()
    if name == "error":
        message = _text(_read(execution, ["error", "message"]))
        # The words of flyteadmin.
        return f" The execution failed with error: [{message}]." if message else ""
    if name in ("project", "domain"):
        return _text(_read(execution, ["executionId", name])) or str(getattr(event.scope, name))
    if name == "name":
        return _text(_read(execution, ["executionId", "name"])) or event.object_id
    return ""


def _identifier_part(event: LoggedEvent, execution: Mapping[str, Any], kind: str, part: str) -> str:
    camel = {"workflow": "workflowId", "launch_plan": "launchPlanId"}[kind]
    for holder in (execution, event.data):
        found = _text(_read(holder, [camel, part])) or _text(_read(holder, [kind, part]))
        if found:
            return found
    from_scope = {
        "project": event.scope.project,
        "domain": event.scope.domain,
        "name": getattr(event.scope, kind),
    }
    return str(from_scope.get(part, ""))


def _read(value: Any, path: Iterable[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _is_known(name: str, data_names: Collection[str]) -> bool:
    if name in FLYTE_VARIABLES or name in OUR_VARIABLES:
        return True
    first, _, rest = name.partition(".")
    return first == "data" and ("*" in data_names or rest.partition(".")[0] in data_names)


def _unknown(name: str, data_names: Collection[str]) -> str:
    known = ", ".join(
        sorted({*FLYTE_VARIABLES, *OUR_VARIABLES, *(f"data.{field}" for field in data_names)})[:40]
    )
    return f"There is no variable {name!r} in the events of this rule. Known: {known}."


def _error(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "unknown_variable", message)])
