"""Service types: what the statuses of their providers mean, and how their specs are sent. Pure.

Statuses: environment-agents.md 2.8, dispatch.md A19 and A20. Specs: dispatch.md A2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from registry.dispatch.lifecycle.answer_cases import StatusClass

_P, _L, _F, _G = StatusClass.PROGRESSING, StatusClass.LIVE, StatusClass.FAILED, StatusClass.GONE
# For every service type that says nothing else.
_USUAL: Mapping[str, StatusClass] = {
    "PENDING": _P,
    "PROVISIONING": _P,
    "PROGRESSING": _P,
    "RUNNING": _L,
    "READY": _L,
    "ACTIVE": _L,
    "FAILED": _F,
    "ERROR": _F,
    "DELETING": _P,
    "DELETED": _G,
}
STATUSES: Mapping[str, Mapping[str, StatusClass]] = {
    "vm": {**_USUAL, "STOPPED": _L, "STOPPING": _L, "PAUSED": _L},
    "container": {**_USUAL, "SUCCEEDED": _L},
    "storage": _USUAL,
    "network": _USUAL,
    "cluster": {**_USUAL, "DEGRADED": _L, "UNAVAILABLE": _L},
}
_ENVELOPES = ("bare", "spec")
_MEMBERS = frozenset({"statuses", "id_pointer", "envelope"})


@dataclass(frozen=True, slots=True)
class Profile:
    """statuses: more than the usual ones, by upper-case name. id_pointer: where the resource's id is put.

    envelope: "bare", or "spec" if the provider expects {"spec": ...}.
    """

    statuses: Mapping[str, StatusClass] = field(default_factory=dict)
    id_pointer: str = ""
    envelope: str = "bare"


_NO_PROFILE = Profile()
Profiles = Mapping[str, Profile]


def classify_status(service_type: str, status: str, profiles: Profiles) -> StatusClass | None:
    """Return what the status means; None if it says nothing, such as UNKNOWN."""
    own, name = profiles.get(service_type, _NO_PROFILE).statuses, status.upper()
    return own.get(name) or STATUSES.get(service_type, _USUAL).get(name)


def spec_to_send(
    service_type: str, spec: Mapping[str, Any], resource_id: str, profiles: Profiles
) -> dict[str, Any]:
    """Return the spec as providers of this type expect it. Raises ValueError if the id has no place in it."""
    profile = profiles.get(service_type, _NO_PROFILE)
    shaped = _with_id(spec, _segments(profile.id_pointer), resource_id) if profile.id_pointer else dict(spec)
    return {"spec": shaped} if profile.envelope == "spec" else shaped


def parse_profiles(raw: str) -> dict[str, Profile]:
    """Read the setting DISPATCH_SERVICE_TYPES. Raises ValueError."""
    try:
        members = json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if not isinstance(members, dict):
        raise ValueError('it must be an object by service type, such as {"container": {"envelope": "spec"}}')
    return {name: _parse_profile(name, value) for name, value in members.items()}


def _parse_profile(name: str, value: Any) -> Profile:
    if not isinstance(value, dict) or not _MEMBERS.issuperset(value):
        raise ValueError(
            f"{name!r} must be an object with statuses, id_pointer or envelope, and nothing else"
        )
    pointer, envelope = value.get("id_pointer", ""), value.get("envelope", "bare")
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError(f"id_pointer of {name!r} must be a JSON pointer such as /metadata/labels/id")
    if envelope not in _ENVELOPES:
        raise ValueError(f'envelope of {name!r} must be "bare" or "spec"')
    return Profile(_parse_statuses(name, value.get("statuses", {})), pointer, envelope)


def _parse_statuses(name: str, value: Any) -> dict[str, StatusClass]:
    meanings = [meaning.value for meaning in StatusClass]
    if not isinstance(value, dict) or any(meaning not in meanings for meaning in value.values()):
        raise ValueError(f"statuses of {name!r} must map each status to one of {', '.join(meanings)}")
    return {status.upper(): StatusClass(meaning) for status, meaning in value.items()}


def _segments(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _with_id(members: Any, path: list[str], resource_id: str) -> dict[str, Any]:
    if not isinstance(members, Mapping):
        raise ValueError(f"the resource's id is put at {path[0]!r} of an object, and there is none")
    first, rest = path[0], path[1:]
    value = _with_id(members.get(first, {}), rest, resource_id) if rest else resource_id
    return {**members, first: value}
