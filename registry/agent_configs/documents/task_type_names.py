"""Names of task types: what they may be, and which look alike. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set

from registry.agent_configs.documents.diagnostics import Code, Findings, Place, quote_value

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


def check_task_type(name: str, place: Place, reserved: Set[str], findings: Findings) -> None:
    if not _NAME.fullmatch(name):
        hint = "Letters, digits and _ . : -, at most 128."
        findings.error(place, Code.INVALID_TASK_TYPE, f"{quote_value(name)} cannot be a task type.", hint)
    elif is_reserved(name, reserved):
        message = f"{name} is served by a plugin of Flyte's. An agent for it stops propeller from starting."
        findings.error(place, Code.RESERVED_TASK_TYPE, message, "Choose a name of your own.")


def is_reserved(name: str, reserved: Set[str]) -> bool:
    """True if a plugin of the data plane serves the type. Flyte compares defaults in small letters."""
    return name in reserved or name.lower() in reserved


def normalize_spelling(name: str) -> str:
    """The same for names that people take for one another: custom_sensor, customsensor, Custom-Sensor."""
    return name.lower().replace("_", "").replace("-", "")


def find_near_misses(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Names that look alike, together. Small letters alone make no near miss for defaults: see routing."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        groups[normalize_spelling(name)].add(name)
    return [tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1]
