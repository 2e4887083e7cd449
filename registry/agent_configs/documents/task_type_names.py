"""Names of task types: their syntax, and names that look similar. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set

from registry.agent_configs.documents.diagnostics import Code, Findings, Place, quote_value

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


def check_task_type(name: str, place: Place, reserved: Set[str], findings: Findings) -> None:
    if not _NAME.fullmatch(name):
        hint = "Use letters, digits and _ . : -, at most 128 characters."
        findings.error(place, Code.INVALID_TASK_TYPE, f"{quote_value(name)} is not a valid task type.", hint)
    elif is_reserved(name, reserved):
        message = f"{name} is served by a Flyte plugin. Propeller does not start if an agent claims it."
        findings.error(place, Code.RESERVED_TASK_TYPE, message, "Choose another name.")


def is_reserved(name: str, reserved: Set[str]) -> bool:
    """True if a plugin of the data plane serves the type. Flyte compares defaults in lower case."""
    return name in reserved or name.lower() in reserved


def normalize_spelling(name: str) -> str:
    """Return one spelling of names that look similar: custom_sensor, customsensor, Custom-Sensor."""
    return name.lower().replace("_", "").replace("-", "")


def find_near_misses(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that look similar. `routes` passes no defaults: they are in lower case."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        groups[normalize_spelling(name)].add(name)
    return [tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1]
