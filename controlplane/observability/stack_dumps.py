"""Stacks of all threads on standard error when a process gets SIGUSR1, also of one that hangs."""

from __future__ import annotations

import faulthandler
import signal

_STANDARD_ERROR = 2
# Not on Windows.
_SIGNAL = getattr(signal, "SIGUSR1", None)


def dump_stacks_on_signal() -> None:
    """Print stacks from now on. By the interpreter itself: it needs no lock, and no thread that still runs.

    Stacks have names of functions and lines, and no values, so no secrets.
    """
    if _SIGNAL is not None:
        # While it is registered, it would not take the signal back from a handler that Python got since.
        faulthandler.unregister(_SIGNAL)
        faulthandler.register(_SIGNAL, file=_STANDARD_ERROR, all_threads=True)
