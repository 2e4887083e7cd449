"""Texts of a document's status for readers who do not see all teams. Pure.

A stored status names the team that won a name or shares an endpoint, for readers of the document's
organisation.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from registry.agent_configs.documents.published import ClaimKey, ClaimKind

NAME_IS_TAKEN = "Another team's document has a name that this document claims."
_ENDPOINT_IS_SHARED = "Another agent has the same endpoint."
_ABOUT_CLAIMS = ("Accepted", "Conflicted")
_ABOUT_ENDPOINTS = ("EndpointShared", "EndpointSettingsMismatch")


def names_hidden_winner(conflict: dict[str, Any], hidden: Container[str]) -> bool:
    """True if the stored message names a winner that is hidden. Older rows hold one message only."""
    winner = conflict["winner"]
    return (
        winner is not None
        and winner["team"] in hidden
        and conflict["message"] == winner.get("message", conflict["message"])
    )


def redact_conflict(conflict: dict[str, Any], hidden: Container[str]) -> str:
    """Return the stored message of a conflict, without its winner if that is hidden."""
    if not names_hidden_winner(conflict, hidden):
        return str(conflict["message"])
    key = ClaimKey(ClaimKind(conflict["kind"]), conflict["name"], conflict["version"], conflict["pin"])
    return f"The {key} belongs to another team's document."


def redact_conditions(
    conditions: list[dict[str, Any]], conflicts: list[dict[str, Any]], hidden: Container[str]
) -> list[dict[str, Any]]:
    """Replace messages about claims if they name a hidden team."""
    if not any(names_hidden_winner(conflict, hidden) for conflict in conflicts):
        return conditions
    return [
        {**condition, "message": NAME_IS_TAKEN}
        if condition["message"] and condition["type"] in _ABOUT_CLAIMS
        else condition
        for condition in conditions
    ]


def redact_observations(observations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace messages that may name another team's agent."""
    return [
        {**observation, "message": _ENDPOINT_IS_SHARED}
        if observation["subject"] in _ABOUT_ENDPOINTS
        else observation
        for observation in observations
    ]
