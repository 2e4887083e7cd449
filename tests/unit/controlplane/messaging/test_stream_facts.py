"""What a server of NATS says of the copies of a stream."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.messaging.nats_api import missing_replicas

CURRENT, BEHIND = {"name": "b", "current": True}, {"name": "c", "current": False}
OFF = {"name": "c", "current": True, "offline": True}


@pytest.mark.parametrize(
    ("copies", "cluster", "missing"),
    [
        (1, None, 0),
        (1, {"leader": "a"}, 0),
        (3, {"leader": "a", "replicas": [CURRENT, CURRENT]}, 0),
        (3, {"leader": "a", "replicas": [CURRENT, BEHIND]}, 1),
        (3, {"leader": "a", "replicas": [OFF, BEHIND]}, 2),
        # An election goes on.
        (3, {"replicas": [CURRENT, CURRENT]}, 1),
        # More than were wanted, while they are moved.
        (3, {"leader": "a", "replicas": [CURRENT, CURRENT, CURRENT]}, 0),
    ],
)
def test_copies_that_are_off_or_behind_are_missing(copies: int, cluster: Any, missing: int):
    answer = {"config": {"num_replicas": copies}, "cluster": cluster}
    assert missing_replicas(answer) == missing
