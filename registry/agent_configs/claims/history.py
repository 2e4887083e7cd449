"""The history of claims between two decisions: owners, and since when. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from registry.agent_configs.documents.published import Claim, ClaimKey, DocumentId

# How long a claim keeps its age after its document is deleted, so that it can be recreated or moved.
GRACE = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RememberedClaim:
    """The history of a team's claim. established: it was in a bundle that a data plane got.

    gone_at: when the team's last document with this claim was removed.
    """

    document: DocumentId
    first_accepted_at: datetime
    established: bool = False
    gone_at: datetime | None = None


History = Mapping[tuple[str, ClaimKey], RememberedClaim]


def drop_expired(history: History, *, now: datetime, grace: timedelta = GRACE) -> History:
    """Return the history without expired claims. Decide by this one."""
    return {
        name: record
        for name, record in history.items()
        if record.gone_at is None or now - record.gone_at <= grace
    }


def update_history(
    history: History, accepted: Iterable[Claim], dropped: Iterable[Claim], *, now: datetime, activated: bool
) -> History:
    """Return the history after a decision. activated: its bundle is served, which establishes its claims.

    A losing claim is no longer established once that bundle is served: the new owner must not lose the name
    when a third document is deleted.
    """
    holders: defaultdict[tuple[str, ClaimKey], set[DocumentId]] = defaultdict(set)
    for claim in accepted:
        holders[claim.team, claim.key].add(claim.document)
    lost = {(claim.team, claim.key) for claim in dropped}
    new_history = {}
    for name, before in history.items():
        if name not in holders:
            robbed = activated and name in lost
            gone_at = None if name in lost else before.gone_at or now
            new_history[name] = _updated_claim(
                before, before.document, before.established and not robbed, gone_at
            )
    for name, documents in holders.items():
        before = history.get(name) or RememberedClaim(min(documents), now)
        document = before.document if before.document in documents else min(documents)
        new_history[name] = _updated_claim(before, document, activated or before.established, None)
    return new_history


def _updated_claim(
    before: RememberedClaim, document: DocumentId, established: bool, gone_at: datetime | None
) -> RememberedClaim:
    """Return the updated claim, or the same object if nothing changed, as for nearly all of thousands."""
    if (before.document, before.established, before.gone_at) == (document, established, gone_at):
        return before
    return replace(before, document=document, established=established, gone_at=gone_at)
