"""The order in which data planes get a change; see docs/adr/0035. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageProgress:
    """A data plane's progress. is_settled: it applied its latest bundle, and no change is held."""

    name: str
    stage: int
    is_settled: bool


def find_unsettled_planes(stage: int, planes: Iterable[StageProgress], *, percent: int) -> tuple[str, ...]:
    """Return unsettled data planes of earlier stages; empty once enough have settled."""
    earlier = [plane for plane in planes if plane.stage < stage]
    open_ = [plane.name for plane in earlier if not plane.is_settled]
    settled = len(earlier) - len(open_)
    return () if settled * 100 >= percent * len(earlier) else tuple(sorted(open_))
