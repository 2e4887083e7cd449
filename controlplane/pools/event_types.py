"""Event types of pools. Grants and releases are no events, as heartbeats are none, unless somebody waited."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

declare_audience("pool", Action.POOL_READ)

POOL_CREATED = register("pool.created", "A pool was created.", pool=TEXT, capacity=INTEGER)
POOL_CHANGED = register("pool.changed", "A pool was changed.", pool=TEXT, capacity=INTEGER)
POOL_REMOVED = register("pool.removed", "A pool was deleted, with its limits and leases.", pool=TEXT)
POOL_LIMIT_CHANGED = register(
    "pool.limit_changed", "A limit of a pool at a scope was set, changed or removed.", pool=TEXT
)
POOL_GRANTED = register(
    "pool.granted",
    "A request that waited got its units.",
    pool=TEXT,
    lease=TEXT,
    token=TEXT,
    units=INTEGER,
    epoch=INTEGER,
)
POOL_LEASE_EXPIRED = register(
    "pool.lease_expired",
    "A lease ended because nobody renewed it, or because it was held for too long.",
    pool=TEXT,
    lease=TEXT,
    token=TEXT,
    units=INTEGER,
)
POOL_REVOKED = register(
    "pool.revoked", "An operator ended a lease.", pool=TEXT, lease=TEXT, token=TEXT, units=INTEGER
)
POOL_EXHAUSTED = register(
    "pool.exhausted", "Requests wait, and for a minute none got units.", pool=TEXT, waiting=INTEGER
)
POOL_RECOVERED = register(
    "pool.recovered", "A pool that was exhausted grants units again, or nobody waits any more.", pool=TEXT
)
POOL_MENDED = register(
    "pool.mended", "The units in use were counted again, because they differed from the leases.", pool=TEXT
)
