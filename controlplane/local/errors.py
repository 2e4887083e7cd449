"""Errors of a local installation that its operator can solve."""

from __future__ import annotations


class CannotStart(Exception):
    """The installation cannot start. The message says what to change."""


class StopRequested(Exception):
    """The operator pressed Ctrl-C or sent SIGTERM."""
