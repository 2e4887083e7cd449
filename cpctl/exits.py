"""What the exit codes mean. They are a contract: docs/guides/cpctl.md lists them."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    DIFFERS = 1  # also: you said no, or a check of `doctor` failed
    USAGE = 2  # the command, or what it was given, is wrong
    NOT_FOUND = 3
    AUTH = 4
    CONFLICT = 5
    TIMEOUT = 6
    UNAVAILABLE = 7
    BUG = 70  # EX_SOFTWARE of sysexits.h: never taken for a difference
    INTERRUPTED = 130
