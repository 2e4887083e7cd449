"""Points at which tests end this process, as a crash would. Without FAILPOINT, they do nothing."""

from __future__ import annotations

import os
import signal

from django.conf import settings

_passes: dict[str, int] = {}


def reach(point: str) -> None:
    """End this process if FAILPOINT is `point`, or on the third call if it is `point:3`."""
    if not settings.FAILPOINT:
        return
    wanted, _, number = settings.FAILPOINT.partition(":")
    if wanted != point:
        return
    _passes[point] = _passes.get(point, 0) + 1
    if _passes[point] >= int(number or 1):
        os.kill(os.getpid(), signal.SIGKILL)
