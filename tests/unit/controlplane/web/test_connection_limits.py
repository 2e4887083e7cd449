"""How long a connection may stay in a phase."""

from __future__ import annotations

import pytest

from controlplane.web.connection_limits import Limits, Phase

LIMITS = Limits(idle=75, head=10, body=30, unread=60)


@pytest.mark.parametrize(
    ("phase", "seconds", "is_answering", "read", "allowed"),
    [
        (Phase.IDLE, 74.9, False, 0, True),
        (Phase.IDLE, 75, False, 0, False),
        (Phase.IDLE, 1e6, True, 0, True),
        (Phase.HEAD, 9.9, False, 0, True),
        (Phase.HEAD, 10, False, 0, False),
        (Phase.HEAD, 1e6, True, 0, True),
        (Phase.BODY, 29.9, False, 0, True),
        (Phase.BODY, 30, False, 0, False),
        # The request whose body is read is itself unanswered.
        (Phase.BODY, 30, True, 0, False),
        (Phase.BODY, 30, False, 1, True),
        (Phase.BODY, 93.9, False, 1024 * 1024, True),
        (Phase.BODY, 94, False, 1024 * 1024, False),
        (Phase.ANSWERING, 1e6, True, 0, True),
    ],
)
def test_a_phase_ends_after_its_seconds(phase, seconds, is_answering, read, allowed):
    assert LIMITS.allow(phase, seconds, is_answering=is_answering, read=read) is allowed
