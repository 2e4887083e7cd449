"""Exit codes. They are a contract, listed in docs/guides/cpctl.md."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    # Also: declined, a check of `doctor` failed, a plugin failed, or a resource or release while waiting.
    DIFFERS = 1
    USAGE = 2  # invalid command or input
    NOT_FOUND = 3
    AUTH = 4
    CONFLICT = 5
    TIMEOUT = 6
    UNAVAILABLE = 7
    BUG = 70  # EX_SOFTWARE of sysexits.h, to be distinct from DIFFERS
    INTERRUPTED = 130
