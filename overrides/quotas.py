"""The quota of override documents, of the installation and of scopes."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.pools.quota_rules import Added, Countable, declare
from controlplane.pools.quotas import check
from controlplane.scopes import Scope

OVERRIDE_DOCUMENTS = declare(
    Countable(
        "override-documents",
        "override documents",
        "SELECT '' AS owner, domain, project, workflow, launch_plan, 1 AS units FROM overrides_override",
        "Delete overrides that nobody needs, or set values at a wider scope.",
        "document",
        has_scopes=True,
    )
)


def check_documents(steps: Iterable[tuple[Scope, int]]) -> None:
    """Raise QuotaExceeded if there are too many documents now. Call after the change was stored.

    steps: scopes, with by how much the number of documents there changes. What removes as many as it
    creates passes, also above the limit.
    """
    check(OVERRIDE_DOCUMENTS, [Added(scope=scope, units=step) for scope, step in steps if step])
