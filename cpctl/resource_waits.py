"""Wait for a resource by long polling: until it has a state, or can no longer reach it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cpctl.client import Api
from cpctl.errors import ApiError, Failed, TimedOut, UsageError
from cpctl.output import as_text
from cpctl.paths import segment

STATES = (
    "pending",
    "queued",
    "provisioning",
    "running",
    "failed",
    "cancelling",
    "cancelled",
    "deleting",
    "deletion_failed",
    "deleted",
)
# In these, nothing more happens without another request.
_ENDS = frozenset({"failed", "cancelled", "deletion_failed", "deleted"})
# The deletion has begun: the resource will not run any more.
_LEAVING = frozenset({"cancelling", "deleting"})
_MOST_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Condition:
    """A field with the value to wait for."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    def is_met(self, resource: Mapping[str, Any]) -> bool:
        if self.name not in resource:
            raise UsageError(f"Unknown field {self.name!r} of resources. Fields: {', '.join(resource)}.")
        return as_text(resource[self.name]) == self.value

    def is_lost(self, resource: Mapping[str, Any]) -> bool:
        """True if the resource does not get there without another request."""
        state = str(resource["state"])
        if self.name != "state":
            return state in _ENDS
        match self.value:
            case "deleted" | "deleting":
                return state == "deletion_failed"
            case "cancelled" | "cancelling" | "deletion_failed" | "failed":
                return state in _ENDS
            case _:
                return state in _ENDS | _LEAVING


def condition(text: str) -> Condition:
    """Read FIELD=VALUE. Raises UsageError."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise UsageError("Specify the condition as FIELD=VALUE.", hint="--for=state=running")
    if name == "state" and value not in STATES:
        raise UsageError(f"Unknown state {value!r}. States: {', '.join(STATES)}.")
    return Condition(name, value)


def wait_for(api: Api, resource_id: str, condition: Condition, until: float) -> Any:
    """Return the resource once the condition is met. until: by the monotonic clock.

    Raises Failed if it is not met without another request, and TimedOut.
    """
    resource: Any = None
    for resource in _versions(api, resource_id, until):
        if condition.is_met(resource):
            return resource
        if condition.is_lost(resource):
            raise Failed(_lost(resource, condition), hint=f"cpctl resources assignments {resource_id}")
    raise TimedOut(
        f"Timed out: {resource_id} has {condition.name} {as_text(resource[condition.name])!r}, "
        f"not {condition.value!r}.{_because(resource)}",
        hint=f"cpctl resources assignments {resource_id}",
    )


def _versions(api: Api, resource_id: str, until: float) -> Iterator[Any]:
    """Yield the resource as it is, and after each change, until the time is up."""
    path = f"resources/{segment(resource_id)}"
    response = api.get(path)
    yield (resource := response.json())
    while (left := until - time.monotonic()) > 0:
        seconds = max(1, min(_MOST_SECONDS, int(left)))
        headers = {"If-None-Match": response.etag}
        try:
            response_or_same = api.send(
                "GET", path, query={"wait": seconds}, headers=headers, timeout=seconds + 10
            )
        except ApiError as error:
            if error.status != 404:
                raise
            # Its record was removed after its deletion.
            yield {**resource, "state": "deleted"}
            return
        if response_or_same.status != 304:
            response = response_or_same
            yield (resource := response.json())


def _lost(resource: Mapping[str, Any], condition: Condition) -> str:
    state = str(resource["state"]).replace("_", " ")
    return f"{resource['id']} is {state}: it does not get {condition} this way.{_because(resource)}"


def _because(resource: Mapping[str, Any]) -> str:
    return f" {resource['reason']}" if resource.get("reason") else ""
