"""The operator's placement policy: an HTTP service in the style of OPA's data API.

It gets `{"input": {"resource", "candidates"}}`: the candidates are the agents that can take the resource. It
answers `{"result": {"reject": {agent: reason}, "choose": agent, "deny": reason}}`, each optional. Without a
valid answer in time nothing is placed, and the reason is shown; the sweep tries again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from controlplane import outgoing
from controlplane.errors import ControlplaneError
from registry.dispatch.placement.candidates import Candidate, Ruling

_SECONDS = 1.0
# After a failed request, the next ones fail at once for this time: a sweep must not wait for each.
_PAUSE_SECONDS = 5.0
_MAX_BYTES = 1024 * 1024
_MAX_REASON = 255
NOT_CONSULTED = Ruling(frozenset(), deny="It waits for the placement policy.")


# When the last request to a URL failed, and why.
_failures: dict[str, tuple[float, str]] = {}


def has_policy() -> bool:
    return bool(settings.DISPATCH_POLICY_URL)


def consult(resource: Mapping[str, Any], candidates: Sequence[Candidate]) -> Ruling:
    """Return what the policy says. Takes up to some seconds: call it without locks of rows."""
    body = {"input": {"resource": resource, "candidates": [_show(candidate) for candidate in candidates]}}
    known = frozenset(candidate.ref.name for candidate in candidates)
    url = settings.DISPATCH_POLICY_URL
    failed_at, why = _failures.get(url, (-_PAUSE_SECONDS, ""))
    if time.monotonic() < failed_at + _PAUSE_SECONDS:
        return _failed(known, why)
    try:
        status, answer = outgoing.post(
            url,
            json.dumps(body, default=str).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            max_bytes=_MAX_BYTES,
            seconds=_SECONDS,
            any_address=True,
        )
    except ControlplaneError as error:
        _failures[url] = (time.monotonic(), error.detail)
        return _failed(known, error.detail)
    if status != 200:
        return _failed(known, f"It responded with {status}.")
    return read_answer(answer, known)


def read_answer(answer: bytes, known: frozenset[str]) -> Ruling:
    """Return the ruling of a response; one that denies all agents if the response is not valid."""
    try:
        result = json.loads(answer).get("result")
    except (ValueError, AttributeError, RecursionError):
        return _failed(known, "Its response is not a JSON object.")
    if not isinstance(result, dict):
        return _failed(known, "Its response has no object named result.")
    reject, choose, deny = (result.get(name) for name in ("reject", "choose", "deny"))
    valid = isinstance(reject or {}, dict) and isinstance(choose or "", str)
    if not valid or not isinstance(deny or "", str | bool):
        return _failed(
            known, "Its result has a member of the wrong type: reject is an object, the others text."
        )
    if deny:
        return Ruling(known, deny=f"The placement policy denies it{_because(deny)}.")
    reasons = {name: str(reason)[:_MAX_REASON] for name, reason in (reject or {}).items()}
    return Ruling(known, reasons, choose or "")


def _because(deny: str | bool) -> str:
    return f": {deny[:_MAX_REASON].rstrip('.')}" if isinstance(deny, str) else ""


def _failed(known: frozenset[str], why: str) -> Ruling:
    return Ruling(
        known, deny=f"The placement policy gave no valid answer, so nothing is placed. {why}"[:1000]
    )


def _show(candidate: Candidate) -> dict[str, Any]:
    return {
        "agent": candidate.ref.name,
        "agent_id": candidate.ref.id,
        "environment": candidate.environment,
        "labels": candidate.labels,
        "cost": candidate.cost,
        "capacity": candidate.capacity,
        "load": candidate.load,
        "waiting": candidate.waiting,
    }
