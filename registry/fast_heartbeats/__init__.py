"""The fast path of `PUT /api/v1/agents/{id}/heartbeat`: one statement for many, answered after its commit.

A plain heartbeat changes nothing but the lease, and the lease knows who may send it. So one UPDATE
authenticates and renews all that have come while the one before was under way. Whatever it does not renew
(unknown, silent until now, another token, a new report) goes to Django, which defines the behaviour alone.
"""

from registry.fast_heartbeats.handler import FastHeartbeats, is_heartbeat

__all__ = ["FastHeartbeats", "is_heartbeat"]
