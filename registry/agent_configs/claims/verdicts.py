"""What was decided about one claim, and how that is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from registry.agent_configs.documents.published import Claim, DocumentId


class Reason(StrEnum):
    """Stable words, part of the API; reasons of conditions."""

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
    """Which rule made the winner win, in the order in which they are asked."""

    RELEASED = "released"
    GRANT = "grant"
    ESTABLISHED = "established"
    OLDEST = "oldest"
    CREATED = "created"
    NAME = "name"
    SIMULTANEOUS = "simultaneous"


_RULE_TEXTS = {
    DecidingRule.RELEASED: "this claim was released",
    DecidingRule.GRANT: "it was granted there more closely",
    DecidingRule.ESTABLISHED: "it is established there",
    DecidingRule.OLDEST: "it was accepted there first",
    DecidingRule.CREATED: "that document is older",
    DecidingRule.NAME: "that document comes first by name",
    DecidingRule.SIMULTANEOUS: "both came first at once, and neither is taken",
}
_HIDDEN_DOCUMENT = DocumentId("", "", "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim's fate. winner: who has the name instead, or with whom it is shared; because: why they."""

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
        """One sentence for the document's author. It says nothing of the winner but who it is."""
        key = str(self.claim.key)
        if self.winner is None:
            return f"{key[:1].upper()}{key[1:]}: {_REASON_TEXTS[self.reason].format(agent=self.claim.agent)}."
        if self.accepted:
            return f"The {key} is shared with {_describe_owner(self.winner)}, which says the same."
        why = f": {_RULE_TEXTS[self.rule]}" if self.rule else ""
        if self.reason in _ENDPOINT_HINTS:
            owner = _describe_owner(self.winner)
            loss = f"The {key} is not served, because {owner} has the {self.winner.key}{why}."
            return f"{loss} {_ENDPOINT_HINTS[self.reason]}"
        about = (
            ""
            if self.winner.key == self.claim.key
            else f", because the {self.winner.key} is not this document's"
        )
        return f"The {key} is with {_describe_owner(self.winner)}{why}{about}."


_REASON_TEXTS = {
    Reason.ACCEPTED: "accepted",
    Reason.SHARED_IDENTICAL: "accepted",
    Reason.RESERVED_TASK_TYPE: "a plugin of the data plane serves it",
    Reason.NOT_OWNED: "it was not granted to the team",
    Reason.AGENT_NAME_CONFLICT: "another document has this id",
    Reason.TASK_TYPE_CONFLICT: "another document has it",
    Reason.ENDPOINT_CONFLICT: "another team has this endpoint",
    Reason.ENDPOINT_SETTINGS_MISMATCH: "another team has this endpoint with other settings",
    Reason.UNKNOWN_AGENT: "no document of the team has the agent {agent}",
    Reason.NOBODY_SERVES: "no document of the team serves it",
    Reason.CANARY_UNSUPPORTED: "this data plane cannot serve a canary",
}


_ENDPOINT_HINTS = {
    Reason.ENDPOINT_CONFLICT: "Use another endpoint.",
    Reason.ENDPOINT_SETTINGS_MISMATCH: "Use another endpoint, or the same insecure and defaultServiceConfig.",
}


def redact_verdict(verdict: Verdict, organisation: str) -> Verdict:
    """The verdict as somebody of an organisation may see it: strangers' names are left out."""
    winner = verdict.winner
    if winner is None or winner.organisation == organisation:
        return verdict
    hidden = replace(winner, document=_HIDDEN_DOCUMENT, team="", organisation="", agent="", digest="")
    return replace(verdict, winner=hidden)


def _describe_owner(claim: Claim) -> str:
    return f"{claim.document} of {claim.team}" if claim.team else "another organisation's document"
