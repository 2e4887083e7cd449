"""Wait for a condition, and never longer than that takes."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(
    condition: Callable[[], T],
    seconds: float = 60,
    explain: Callable[[], object] = lambda: "The condition did not come true in time.",
    *,
    pause: float = 0.02,
) -> T:
    """Ask again and again until the condition is true; give what it answered."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, explain()
        time.sleep(pause)
    return answer


def is_reachable(url: str) -> bool:
    """Does the URL answer with a success? For servers that are starting."""
    try:
        urllib.request.urlopen(url, timeout=20).close()
    except OSError:
        return False
    return True
