"""When a release of plugins becomes active. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

# A node that was silent for longer counts no more.
NODE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Progress:
    """How far nodes are. have: those with the latest lock of the release; required: how many must have it."""

    have: int
    required: int
    live: int
    behind: tuple[str, ...] = ()

    @property
    def is_enough(self) -> bool:
        return self.live > 0 and self.have >= self.required

    @property
    def message(self) -> str:
        """What the release waits for, or empty."""
        if self.is_enough:
            return ""
        if not self.live:
            return "No installer is running. Start `manage.py plugin_installer` on every node."
        names = ", ".join(self.behind[:5]) + (" and others" if len(self.behind) > 5 else "")
        return f"{self.have} of {self.required} nodes have it. It waits for {names or 'more nodes'}."


def measure(
    lock_revision: int, installed: Mapping[str, int], live: Collection[str], min_active: int | None
) -> Progress:
    """Return how far the live nodes are.

    installed: the lock revision by node, of those that installed the release. A node that is not live has
    no vote. min_active: how many nodes suffice; None for all live ones.
    """
    have = {node for node in live if installed.get(node, -1) >= lock_revision}
    required = max(1, len(live) if min_active is None else min_active)
    behind = tuple(sorted(set(live) - have))
    return Progress(len(have), required, len(live), behind)
