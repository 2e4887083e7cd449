"""What is written about a problem code: what it means and how to solve it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """One or two sentences each. meaning: what happened. next_step: what the caller should do."""

    meaning: str
    next_step: str


LIST_THEM = "Check the spelling against the list; `detail` names the closest match where there is one."
