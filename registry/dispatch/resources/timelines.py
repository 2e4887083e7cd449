"""The assignments of a resource, with what happened to each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow

# A request that is sent again every minute gets a line each time.
MOST_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class AssignmentHistory:
    assignment: AssignmentRow
    entries: tuple[TimelineRow, ...]


def assignments_of(row: ResourceRow) -> list[AssignmentHistory]:
    """Return the assignments by epoch, with the newest MOST_ENTRIES lines of the resource's timeline."""
    newest = TimelineRow.objects.filter(resource=row).order_by("-id")[:MOST_ENTRIES]
    by_epoch: defaultdict[int, list[TimelineRow]] = defaultdict(list)
    for entry in reversed(newest):
        by_epoch[entry.epoch].append(entry)
    assignments = AssignmentRow.objects.filter(resource=row).order_by("epoch")
    return [AssignmentHistory(one, tuple(by_epoch[one.epoch])) for one in assignments]
