"""Resource pools for FlytePropeller: the port that speaks the protocol of Redis."""

from controlplane.settings import environment as env

__all__ = [
    "POOLS_REDIS_ADDRESS",
    "POOLS_REDIS_DEFAULT_CAPACITY",
    "POOLS_REDIS_PORT",
    "POOLS_REDIS_THREADS",
    "POOLS_REDIS_TRUE_COUNTS",
]

POOLS_REDIS_ADDRESS = env.text(
    "POOLS_REDIS_ADDRESS",
    default="127.0.0.1",
    meaning="Address on which `manage.py pools_redis` serves FlytePropellers. The protocol has no TLS: keep"
    " the port in a private network.",
)
POOLS_REDIS_PORT = env.integer(
    "POOLS_REDIS_PORT", default=6390, meaning="Port on which `manage.py pools_redis` serves FlytePropellers."
)
POOLS_REDIS_THREADS = env.integer(
    "POOLS_REDIS_THREADS",
    default=8,
    minimum=1,
    meaning="Threads for commands of FlytePropellers, each with its own database connection.",
)
POOLS_REDIS_DEFAULT_CAPACITY = env.integer(
    "POOLS_REDIS_DEFAULT_CAPACITY",
    default=0,
    minimum=0,
    meaning="Capacity of pools that FlytePropeller names and nobody has defined. 0: they are closed.",
)
POOLS_REDIS_TRUE_COUNTS = env.boolean(
    "POOLS_REDIS_TRUE_COUNTS",
    default=False,
    meaning="Answer SCARD with the units in use, for people who watch. FlytePropeller then exceeds"
    " capacities.",
)
