"""The web process: the threads that run Django, and what the fast paths beside them may keep."""

from controlplane.settings import environment as env

__all__ = [
    "EFFECTIVE_SNAPSHOT_MIB",
    "WATCHERS_PER_PRINCIPAL",
    "WATCHERS_PER_WORKER",
    "WEB_HANG_SECONDS",
    "WEB_QUEUE",
    "WEB_THREADS",
]

WEB_THREADS = env.integer(
    "WEB_THREADS",
    default=4,
    minimum=1,
    meaning="Threads of each web worker that run Django, each with a database connection of its own.",
)
WEB_QUEUE = env.integer(
    "WEB_QUEUE",
    default=64,
    minimum=1,
    meaning="Requests of each web worker that are read and wait for such a thread. The others wait unread.",
)
WEB_HANG_SECONDS = env.integer(
    "WEB_HANG_SECONDS",
    default=30,
    meaning="Seconds without a sign of life after which a web worker is ended and another started. 0: never.",
)
EFFECTIVE_SNAPSHOT_MIB = env.integer(
    "EFFECTIVE_SNAPSHOT_MIB",
    default=64,
    meaning="Memory of each web worker for ready answers about effective values. 0: none is kept.",
)
WATCHERS_PER_WORKER = env.integer(
    "WATCHERS_PER_WORKER",
    default=5000,
    meaning="Streams and long polls of events that one web worker holds open; more are answered 429.",
)
WATCHERS_PER_PRINCIPAL = env.integer(
    "WATCHERS_PER_PRINCIPAL",
    default=100,
    meaning="The same for one principal.",
)
