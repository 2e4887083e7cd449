"""The web process: threads that run Django, and limits for its caches and event streams."""

from controlplane.settings import environment as env

__all__ = [
    "EFFECTIVE_SNAPSHOT_MIB",
    "LEAVE_SECONDS",
    "WATCHERS_PER_PRINCIPAL",
    "WATCHERS_PER_WORKER",
    "WEB_HANG_SECONDS",
    "WEB_KEEP_ALIVE_SECONDS",
    "WEB_QUEUE",
    "WEB_THREADS",
]

WEB_THREADS = env.integer(
    "WEB_THREADS",
    default=4,
    minimum=1,
    meaning="Threads of each web worker that run Django, each with its own database connection.",
)
WEB_QUEUE = env.integer(
    "WEB_QUEUE",
    default=64,
    minimum=1,
    meaning="Requests that each web worker reads ahead while they wait for a thread. Further requests wait"
    " unread.",
)
WEB_HANG_SECONDS = env.integer(
    "WEB_HANG_SECONDS",
    default=30,
    meaning="Seconds without a sign of life after which a web worker is stopped and replaced. 0: never.",
)
WEB_KEEP_ALIVE_SECONDS = env.integer(
    "WEB_KEEP_ALIVE_SECONDS",
    default=75,
    minimum=1,
    meaning="Seconds after which a web worker closes a connection without requests. A load balancer in front"
    " must close its own earlier, or some requests meet a connection that is being closed.",
)
LEAVE_SECONDS = env.integer(
    "LEAVE_SECONDS",
    default=0,
    maximum=60,
    meaning="Seconds after SIGTERM in which web, flyte-grpc and pools_redis answer as ever, and say that they"
    " are not ready. Choose more than the time in which your load balancer notices. The Helm chart sets 5.",
)
EFFECTIVE_SNAPSHOT_MIB = env.integer(
    "EFFECTIVE_SNAPSHOT_MIB",
    default=64,
    meaning="Memory in MiB per web worker, and of the gRPC server, for cached responses to reads of effective"
    " values and of Flyte's clients. 0: no cache.",
)
WATCHERS_PER_WORKER = env.integer(
    "WATCHERS_PER_WORKER",
    default=5000,
    meaning="Event streams and long polls that one web worker holds open; further ones get 429.",
)
WATCHERS_PER_PRINCIPAL = env.integer(
    "WATCHERS_PER_PRINCIPAL",
    default=100,
    meaning="Event streams and long polls per principal in one web worker; further ones get 429.",
)
