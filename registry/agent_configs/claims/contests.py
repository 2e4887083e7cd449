"""Decide contests, where several documents claim one name; the order of claims does not matter. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from registry.agent_configs.claims.grants import Ownership
from registry.agent_configs.claims.history import History
from registry.agent_configs.claims.verdicts import DecidingRule, Reason, Verdict
from registry.agent_configs.documents.published import Claim, ClaimKind, DocumentId

_NEVER_ACCEPTED = datetime.max.replace(tzinfo=UTC)
# The rule of each position in a rank.
_RANK_RULES = (
    DecidingRule.PINNED,
    DecidingRule.RELEASED,
    DecidingRule.GRANT,
    DecidingRule.ESTABLISHED,
    DecidingRule.ESTABLISHED,
    DecidingRule.OLDEST,
    DecidingRule.CREATED,
    DecidingRule.NAME,
)


class TieRule(StrEnum):
    """How to decide between claims that were never served."""

    OLDEST_WINS = "oldest_wins"
    REJECT_BOTH = "reject_both"


@dataclass(frozen=True, slots=True)
class Contest:
    """The rules that rank claims. created_at: of documents. flag: losing claims need a review."""

    ownership: Ownership
    history: History
    created_at: dict[DocumentId, datetime]
    tie_rule: TieRule = TieRule.OLDEST_WINS
    flag: bool = False

    def verdicts(
        self,
        claims: Iterable[Claim],
        reason: Reason,
        by: Callable[[Claim], Hashable] = lambda claim: claim.key,
    ) -> Iterator[Verdict]:
        """Yield one verdict per claim. reason: of losing claims. by: the key that only one claim can have."""
        groups: defaultdict[Hashable, list[Claim]] = defaultdict(list)
        for claim in claims:
            groups[by(claim)].append(claim)
        for group in groups.values():
            yield from self._decide_group(sorted(group, key=self.rank), reason)

    def rank(self, claim: Claim) -> tuple[Any, ...]:
        """Return a claim's rank; the lowest wins. The last position is unique, so one claim wins."""
        standing = self.history.get((claim.team, claim.key))
        established = standing is not None and standing.established
        # An endpoint belongs to a team, whichever document declares it.
        is_own = claim.key.kind is ClaimKind.ENDPOINT or (standing and standing.document == claim.document)
        return (
            not self.ownership.is_pinned(claim),
            self.ownership.is_released(claim),
            -self.ownership.specificity(claim),
            not (established and is_own),
            not established,
            standing.first_accepted_at if standing else _NEVER_ACCEPTED,
            self.created_at[claim.document],
            (claim.document, claim.key),
        )

    def deciding_rule(self, winner: Claim, loser: Claim) -> DecidingRule:
        pairs = zip(self.rank(winner), self.rank(loser), _RANK_RULES, strict=True)
        return next(rule for ours, theirs, rule in pairs if ours != theirs)

    def _decide_group(self, ranked: list[Claim], reason: Reason) -> Iterator[Verdict]:
        winner, *losers = ranked
        if self._rejects_all_claims(ranked):
            for claim in ranked:
                other = next(candidate for candidate in ranked if candidate.digest != claim.digest)
                yield Verdict(claim, reason, other, DecidingRule.SIMULTANEOUS, needs_review=True)
            return
        yield Verdict(winner, Reason.ACCEPTED)
        for claim in losers:
            if claim.digest == winner.digest:
                yield Verdict(claim, Reason.SHARED_IDENTICAL, winner)
            else:
                yield Verdict(claim, reason, winner, self.deciding_rule(winner, claim), self.flag)

    def _rejects_all_claims(self, ranked: list[Claim]) -> bool:
        """True if the tie rule rejects all claims and only the order of arrival would decide."""
        if self.tie_rule is TieRule.OLDEST_WINS or len({claim.digest for claim in ranked}) == 1:
            return False
        rival = next(claim for claim in ranked if claim.digest != ranked[0].digest)
        first, second = self.rank(ranked[0]), self.rank(rival)
        return (
            not any((claim.team, claim.key) in self.history for claim in ranked) and first[:3] == second[:3]
        )
