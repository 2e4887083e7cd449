"""What can go wrong that an operator can put right."""

from __future__ import annotations


class CannotStart(Exception):
    """Nothing can run until somebody changes something; the message says what."""


class StopRequested(Exception):
    """Somebody pressed Ctrl-C or sent SIGTERM."""
