"""Which data planes are given a change first. Pure: the reasons are in docs/adr/0035."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageProgress:
    """A data plane on the way. is_settled: it works with what it was given last, and nothing waits there."""

    name: str
    stage: int
    is_settled: bool


def find_unsettled_planes(stage: int, planes: Iterable[StageProgress], *, percent: int) -> tuple[str, ...]:
    """The data planes of earlier stages that have to settle first; none once enough of them did."""
    earlier = [plane for plane in planes if plane.stage < stage]
    open_ = [plane.name for plane in earlier if not plane.is_settled]
    settled = len(earlier) - len(open_)
    return () if settled * 100 >= percent * len(earlier) else tuple(sorted(open_))
