"""The schema of a data plane's agent section, and the values that Flyte would misread. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.formats import go_durations
from registry.agent_configs.documents.dialects import DialectNames


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    # Flyte reads a number as nanoseconds, which is never intended.
    try:
        return isinstance(value, str) and go_durations.parse(value) > 0
    except ValueError:
        return False


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text for text in value)


def _are_counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _is_plain_name(name) and _is_integer(count) for name, count in value.items()
    )


def _are_pairs(value: Any) -> bool:
    """True for a list of objects with one member each; Flyte would change names in a single object."""
    return isinstance(value, list) and all(
        isinstance(pair, Mapping) and len(pair) == 1 and all(map(_is_text, pair.values())) for pair in value
    )


def _are_timeouts(value: Any) -> bool:
    return _are_pairs(value) and all(_is_duration(text) for pair in value for text in pair.values())


def _is_plain_name(name: Any) -> bool:
    """True if Flyte keeps the name: it converts names to lower case and splits them at dots."""
    return isinstance(name, str) and name == name.lower() and "." not in name


_LIMITER = {"burst": _is_integer, "qps": _is_number}
_DEPLOYMENT: Mapping[str, Any] = {
    "endpoint": _is_text,
    "insecure": _is_boolean,
    "defaultServiceConfig": _is_text,
    "timeouts": _are_timeouts,
    "defaultTimeout": _is_duration,
    "project": _is_text,
    "domain": _is_text,
}
_PLATFORM: Mapping[str, Any] = {
    "webApi": {
        "resourceQuotas": _are_counts,
        "readRateLimiter": _LIMITER,
        "writeRateLimiter": _LIMITER,
        "caching": {
            "size": _is_integer,
            "resyncInterval": _is_duration,
            "workers": _is_integer,
            "maxSystemFailures": _is_integer,
        },
    },
    "resourceConstraints": {
        "ProjectScopeResourceConstraint": {"Value": _is_integer},
        "NamespaceScopeResourceConstraint": {"Value": _is_integer},
    },
    "pollInterval": _is_duration,
}


def find_misreadings(document: Mapping[str, Any], names: DialectNames) -> tuple[str, ...]:
    """Return pointers to all values that a data plane would reject, drop or misread."""
    section = document.get("plugins", {}).get(names.section, {})
    schema = {
        **_PLATFORM,
        names.default_agent: _DEPLOYMENT,
        names.routes: _are_pairs,
        "supportedTaskTypes": _are_texts,
    }
    where = f"/plugins/{names.section}"
    rest = {name: value for name, value in section.items() if name != names.agents}
    return (
        *_check_value(rest, schema, where),
        *_check_agents(section.get(names.agents), f"{where}/{names.agents}"),
        *_find_dead_mappings(section, names),
        *_check_defaults(document, names),
    )


def _check_value(value: Any, schema: Any, where: str) -> Iterator[str]:
    if callable(schema):
        if not schema(value):
            yield where
    elif not isinstance(value, Mapping):
        yield where
    else:
        for name, inner in value.items():
            below = f"{where}/{name}"
            if name in schema:
                yield from _check_value(inner, schema[name], below)
            else:
                yield below


def _check_agents(agents: Any, where: str) -> Iterator[str]:
    if not isinstance(agents, Mapping):
        yield where
        return
    for name, settings in agents.items():
        if not _is_plain_name(name):
            yield f"{where}/{name}"
        yield from _check_value(settings, _DEPLOYMENT, f"{where}/{name}")
        complete = isinstance(settings, Mapping) and {"endpoint", "insecure", "defaultTimeout", "timeouts"}
        if not complete or not complete <= settings.keys():
            yield f"{where}/{name}"


def _find_dead_mappings(section: Mapping[str, Any], names: DialectNames) -> Iterator[str]:
    """Yield mappings to unknown agents, which Flyte silently ignores."""
    agents, routes = section.get(names.agents) or {}, section.get(names.routes)
    for index, route in enumerate(routes if isinstance(routes, list) and _are_pairs(routes) else []):
        if not set(route.values()) <= set(agents):
            yield f"/plugins/{names.section}/{names.routes}/{index}"


def _check_defaults(document: Mapping[str, Any], names: DialectNames) -> Iterator[str]:
    defaults = document.get("tasks", {}).get("task-plugins", {}).get("default-for-task-types", [])
    where = "/tasks/task-plugins/default-for-task-types"
    if not _are_pairs(defaults):
        yield where
        return
    for index, pair in enumerate(defaults):
        ((name, plugin),) = pair.items()
        if name != name.lower() or plugin != names.section:
            yield f"{where}/{index}"
