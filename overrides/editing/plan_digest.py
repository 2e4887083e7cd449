"""The digest of what a change of one override shows: its base version, and the values before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controlplane.errors import PlanDrifted
from controlplane.scopes import by_project
from overrides.editing.blast_radius import measure
from overrides.editing.confirmation import digest_of
from overrides.editing.draft import Draft
from overrides.editing.impact import AffectedScope
from overrides.resolution.merging import canonical
from overrides.resource_types.catalogue import Catalogue, RuleChange


def plan_digest(draft: Draft, catalogue: Catalogue) -> str:
    """Return the digest of the draft and of all effective values that it changes.

    The caller holds the lock of revisions.
    """
    radius = measure([draft] if draft.changes else [], RuleChange(catalogue, catalogue), exact=True)
    return digest_of(digest_parts(draft, radius.affected))


def digest_parts(draft: Draft, affected: Iterable[AffectedScope]) -> Iterator[str]:
    """Yield a text for the override and for each scope, in an order that does not depend on theirs. Pure."""
    yield f"{draft.name} {draft.current.version} [{draft.text},{draft.owners_text}]"
    for scope in sorted(affected, key=lambda change: by_project(change.scope)):
        yield f"{scope.scope} [{canonical(scope.before)},{canonical(scope.after)}]"


def drifted(digest: str) -> PlanDrifted:
    """Return the error for a plan that is no longer what was approved. digest: of the current plan."""
    return PlanDrifted(
        "The override or the effective values changed since the plan was made. Refresh the change request, "
        "and have the new plan approved.",
        digest=digest,
    )
