"""Steps of an installation, for those who show its progress. Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    """What has just been done."""

    LOCKED = "locked"
    COPIED = "copied"
    VERIFIED = "verified"
    EXTRACTED = "extracted"
    FLUSHED = "flushed"
    ANNOUNCED = "announced"
    PLACED = "placed"
    MANIFEST_WRITTEN = "manifest_written"
    SWITCHED = "switched"


# Called with the step, and the plugin's name where the step is about one.
Progress = Callable[[Step, str], None]


def ignore_progress(step: Step, plugin: str) -> None:
    """Show nothing."""
