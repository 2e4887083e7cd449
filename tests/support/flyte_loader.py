"""How propeller reads its configuration files, ported from Flyte's loader for tests.

YAML as Go's library takes it, viper's small letters and dots, mapstructure's conversions. It is an oracle,
so it shares no code with ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
BOOLS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
GO_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False", ""), False),
}


class DecodeError(Exception):
    """Propeller exits."""


@dataclass
class LoadedDeployment:
    endpoint: str = ""
    insecure: bool = False
    service_config: str = ""
    timeouts: dict[str, int] = field(default_factory=dict)
    default_timeout: int = 0
    project: str = ""
    domain: str = ""


@dataclass
class LoadedConfig:
    """What propeller works with. default_for_task_types: after its own trimming and small letters."""

    agents: dict[str, LoadedDeployment] = field(default_factory=dict)
    agent_for_task_types: dict[str, str] = field(default_factory=dict)
    supported_task_types: list[str] = field(default_factory=list)
    default_agent: LoadedDeployment = field(default_factory=LoadedDeployment)
    poll_interval: int = 10 * 10**9
    default_for_task_types: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


# section -> the names of its members, in small letters, by field.
SECTIONS = {
    "agent-service": {
        "agents": "agents",
        "agentfortasktypes": "agent_for_task_types",
        "supportedtasktypes": "supported_task_types",
        "defaultagent": "default_agent",
        "pollinterval": "poll_interval",
    },
    "connector-service": {
        "connectors": "agents",
        "connectorfortasktypes": "agent_for_task_types",
        "supportedtasktypes": "supported_task_types",
        "defaultconnector": "default_agent",
        "pollinterval": "poll_interval",
    },
}
DEPLOYMENT = {
    "endpoint": "endpoint",
    "insecure": "insecure",
    "defaultserviceconfig": "service_config",
    "timeouts": "timeouts",
    "defaulttimeout": "default_timeout",
    "project": "project",
    "domain": "domain",
}


def load(*texts: str, section: str = "agent-service") -> LoadedConfig:
    """What propeller (v1.15, v1.16) makes of files that are mounted together. Raises DecodeError."""
    merged: dict[str, Any] = {}
    for text in texts:
        document = _value(yaml.compose(text, Loader=yaml.SafeLoader))
        if document is not None and not isinstance(document, dict):
            raise DecodeError("a file is no map")
        merged = _merged(merged, _small(document or {}))
    settings = _all_settings(merged)
    placeholders = (1, 2) if section == "agent-service" else (3, 4)
    config = LoadedConfig(supported_task_types=[f"task_type_{placeholder}" for placeholder in placeholders])
    _decode_section(_below(settings, "plugins", section), section, config)
    defaults = _below(settings, "tasks", "task-plugins").get("default-for-task-types", {})
    config.default_for_task_types = {
        name.strip().lower(): plugin.strip().lower() for name, plugin in _strings(defaults).items()
    }
    return config


def parse_duration(text: str) -> int:
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    pieces = re.findall("([0-9]*)(?:\\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", unsigned)
    again = re.fullmatch("((?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+", unsigned)
    if not again:
        raise DecodeError(f"time: invalid duration {text}")
    total = sum(
        int(whole or 0) * NANOSECONDS[unit] + int(part or 0) * NANOSECONDS[unit] // 10 ** len(part)
        for whole, part, unit in pieces
    )
    return -total if text.startswith("-") else total


def _decode_section(settings: Any, section: str, config: LoadedConfig) -> None:
    names = SECTIONS[section]
    for name, value in settings.items():
        match names.get(name):
            case "agents":
                config.agents = {agent_id: _deployment(body) for agent_id, body in _map(value).items()}
            case "agent_for_task_types":
                config.agent_for_task_types = _strings(value)
            case "supported_task_types":
                config.supported_task_types = _list(value)
            case "default_agent":
                config.default_agent = _deployment(value)
            case "poll_interval":
                config.poll_interval = _duration(value)
            case _:
                config.unknown.add(name)


def _deployment(settings: Any) -> LoadedDeployment:
    deployment = LoadedDeployment()
    for name, value in _map(settings).items():
        match DEPLOYMENT.get(name.lower()):
            case "insecure":
                deployment.insecure = _bool(value)
            case "timeouts":
                deployment.timeouts = {operation: _duration(body) for operation, body in _map(value).items()}
            case "default_timeout":
                deployment.default_timeout = _duration(value)
            case str(attribute):
                setattr(deployment, attribute, _string(value))
    return deployment


def _map(value: Any) -> dict[str, Any]:
    """sliceToMapHook: a list of maps is one map. Keys become texts."""
    if isinstance(value, list):
        if not all(isinstance(part, dict) for part in value):
            raise DecodeError(f"{value!r} is no map")
        value = {name: inner for part in value for name, inner in part.items()}
    if not isinstance(value, dict):
        raise DecodeError(f"{value!r} is no map")
    return {_string(name): inner for name, inner in value.items()}


def _strings(value: Any) -> dict[str, str]:
    return {name: _string(inner) for name, inner in _map(value).items()}


def _list(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split(",") if value else []
    if isinstance(value, list):
        return [_string(text) for text in value]
    return [_string(value)]


def _string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "1" if value else "0"
        case int():
            return str(value)
        case float():
            return f"{value:f}".rstrip("0").rstrip(".")
        case _:
            raise DecodeError(f"expected type string, got {value!r}")


def _bool(value: Any) -> bool:
    match value:
        case bool():
            return value
        case int() | float():
            return value != 0
        case str() if value in GO_BOOLS:
            return GO_BOOLS[value]
        case _:
            raise DecodeError(f"cannot parse {value!r} as bool")


def _duration(value: Any) -> int:
    """The JSON way of Duration: a number is nanoseconds, an empty text nothing."""
    if isinstance(value, str):
        return parse_duration(value) if value else 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    raise DecodeError(f"invalid duration {value!r}")


def _value(node: Any) -> Any:
    """A YAML value as Go's yaml.v2 resolves it; a name that comes twice is taken the second time."""
    match node:
        case None:
            return None
        case yaml.MappingNode():
            return {_value(name): _value(inner) for name, inner in node.value}
        case yaml.SequenceNode():
            return [_value(inner) for inner in node.value]
        case _:
            return node.value if node.style else _plain(node.value)


def _plain(text: str) -> Any:
    if text in BOOLS:
        return BOOLS[text]
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text[0] in "+-0123456789.":
        return _number(text)
    return text


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    if re.fullmatch(r"[-+]?(0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+)", plain):
        return int(plain, 0)
    if re.fullmatch(r"[-+]?0[0-7]+", plain):
        return int(plain, 8)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", plain):
        return float(plain)
    return text


def _small(value: Any) -> Any:
    """viper: names in small letters, but not within lists."""
    if not isinstance(value, dict):
        return value
    return {_text_of(name).lower(): _small(inner) for name, inner in value.items()}


def _text_of(name: Any) -> str:
    if isinstance(name, bool):
        return str(name).lower()
    return "<nil>" if name is None else str(name)


def _merged(target: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """viper's mergeMaps: maps merge; else the later file wins, unless its value is of another type."""
    merged = dict(target)
    for name, value in source.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merged(before, value)
        elif before is None or type(before) is type(value):
            merged[name] = value
    return merged


def _all_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """viper's AllSettings: every leaf by its path, split at dots; nulls and empty maps vanish."""
    merged: dict[str, Any] = {}
    for path, value in _leaves(settings, ()):
        *parents, last = ".".join(path).split(".")
        below = merged
        for name in parents:
            inner = below.setdefault(name, {})
            if not isinstance(inner, dict):
                inner = below[name] = {}
            below = inner
        below[last] = value
    return merged


def _leaves(settings: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def _below(settings: Any, *names: str) -> Any:
    for name in names:
        settings = settings.get(name, {})
        if not isinstance(settings, dict):
            raise DecodeError(f"{name} is no map")
    return settings
