"""Verdicts on claims and their messages. Pure."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from enum import StrEnum

from registry.agent_configs.documents.published import Claim, DocumentId


class Reason(StrEnum):
    """Stable names, part of the API; reasons of conditions."""

    ACCEPTED = "Accepted"
    SHARED_IDENTICAL = "SharedIdentical"
    RESERVED_TASK_TYPE = "ReservedTaskType"
    NOT_OWNED = "NotOwned"
    AGENT_NAME_CONFLICT = "AgentNameConflict"
    TASK_TYPE_CONFLICT = "TaskTypeConflict"
    ENDPOINT_CONFLICT = "EndpointConflict"
    ENDPOINT_SETTINGS_MISMATCH = "EndpointSettingsMismatch"
    UNKNOWN_AGENT = "UnknownAgent"
    NOBODY_SERVES = "NobodyServes"
    CANARY_UNSUPPORTED = "CanaryUnsupported"


class DecidingRule(StrEnum):
    """The rule that decided, in the order of evaluation."""

    PINNED = "pinned"
    RELEASED = "released"
    GRANT = "grant"
    ESTABLISHED = "established"
    OLDEST = "oldest"
    CREATED = "created"
    NAME = "name"
    SIMULTANEOUS = "simultaneous"


_RULE_TEXTS = {
    DecidingRule.PINNED: "an administrator pinned the name to its team",
    DecidingRule.RELEASED: "this claim was released",
    DecidingRule.GRANT: "its team has a more specific grant",
    DecidingRule.ESTABLISHED: "its claim is established",
    DecidingRule.OLDEST: "its claim was accepted first",
    DecidingRule.CREATED: "its document is older",
    DecidingRule.NAME: "its document is first by name",
    DecidingRule.SIMULTANEOUS: "both are new, so neither is accepted",
}
_HIDDEN_DOCUMENT = DocumentId("", "", "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one claim. winner: the claim that has or shares the name; rule: why it won."""

    claim: Claim
    reason: Reason
    winner: Claim | None = None
    rule: DecidingRule | None = None
    needs_review: bool = False

    @property
    def accepted(self) -> bool:
        return self.reason in (Reason.ACCEPTED, Reason.SHARED_IDENTICAL)

    @property
    def message(self) -> str:
        """A message for the document's author. It names the winner and reveals nothing else about it."""
        key = str(self.claim.key)
        if self.winner is None:
            return f"{key[:1].upper()}{key[1:]}: {_REASON_TEXTS[self.reason].format(agent=self.claim.agent)}."
        if self.accepted:
            return f"The {key} is shared with {_describe_owner(self.winner)}, which declares the same."
        why = f": {_RULE_TEXTS[self.rule]}" if self.rule else ""
        if self.reason in _ENDPOINT_HINTS:
            owner = _describe_owner(self.winner)
            loss = f"The {key} is not served, because {owner} has the {self.winner.key}{why}."
            return f"{loss} {_ENDPOINT_HINTS[self.reason]}"
        about = (
            ""
            if self.winner.key == self.claim.key
            else f", because this document does not own the {self.winner.key}"
        )
        return f"The {key} belongs to {_describe_owner(self.winner)}{why}{about}."


_REASON_TEXTS = {
    Reason.ACCEPTED: "accepted",
    Reason.SHARED_IDENTICAL: "accepted",
    Reason.RESERVED_TASK_TYPE: "a plugin of the data plane serves it",
    Reason.NOT_OWNED: "the team has no grant for it",
    Reason.AGENT_NAME_CONFLICT: "another document has this agent ID",
    Reason.TASK_TYPE_CONFLICT: "another document has it",
    Reason.ENDPOINT_CONFLICT: "another team has this endpoint",
    Reason.ENDPOINT_SETTINGS_MISMATCH: "another team has this endpoint with other settings",
    Reason.UNKNOWN_AGENT: "no document of the team declares the agent {agent}",
    Reason.NOBODY_SERVES: "no document of the team serves it",
    Reason.CANARY_UNSUPPORTED: "this data plane does not support canaries",
}


_ENDPOINT_HINTS = {
    Reason.ENDPOINT_CONFLICT: "Use another endpoint.",
    Reason.ENDPOINT_SETTINGS_MISMATCH: "Use another endpoint, or equal insecure and defaultServiceConfig.",
}


def redact_verdict(verdict: Verdict, organisation: str) -> Verdict:
    """Remove the winner's names unless the reader is of its organisation."""
    winner = verdict.winner
    if winner is None or winner.organisation == organisation:
        return verdict
    return _without_winner(verdict, winner)


def redact_hidden(verdict: Verdict, hidden: Container[str]) -> Verdict:
    """Remove the winner's names if its team is hidden from the reader."""
    winner = verdict.winner
    if winner is None or not winner.team or winner.team not in hidden:
        return verdict
    return _without_winner(verdict, winner)


def _without_winner(verdict: Verdict, winner: Claim) -> Verdict:
    nameless = replace(winner, document=_HIDDEN_DOCUMENT, team="", organisation="", agent="", digest="")
    return replace(verdict, winner=nameless)


def _describe_owner(claim: Claim) -> str:
    return f"{claim.document} of {claim.team}" if claim.team else "another organisation's document"
