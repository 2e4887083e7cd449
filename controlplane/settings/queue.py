"""Valkey or Redis (queue and cache), Celery and NATS: services whose data may be lost at any time."""

from typing import Any

from controlplane.cluster.valkey_address import parse_sentinels
from controlplane.settings import environment as env
from controlplane.settings.agent_configs import AGENT_CONFIGS_RECOMPUTE_SECONDS
from controlplane.settings.liveness import SWEEP_INTERVAL_SECONDS
from controlplane.settings.overrides import OVERRIDES_RELOAD_SECONDS, OVERRIDES_SOURCE
from controlplane.settings.probes import AGENT_PROBE_LOOK_SECONDS

__all__ = [
    "CACHES",
    "CELERY_ACCEPT_CONTENT",
    "CELERY_BEAT_SCHEDULE",
    "CELERY_BEAT_SCHEDULER",
    "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP",
    "CELERY_BROKER_TRANSPORT_OPTIONS",
    "CELERY_BROKER_URL",
    "CELERY_TASK_ACKS_LATE",
    "CELERY_TASK_IGNORE_RESULT",
    "CELERY_TASK_REJECT_ON_WORKER_LOST",
    "CELERY_TASK_SERIALIZER",
    "CELERY_TASK_TIME_LIMIT",
    "CELERY_WORKER_HIJACK_ROOT_LOGGER",
    "CELERY_WORKER_PREFETCH_MULTIPLIER",
    "NATS_REPLICAS",
    "NATS_URL",
    "REDIS_URL",
    "WORKER_ALIVE_FILE",
]


def _valkey_url(raw: str) -> str:
    parse_sentinels(raw)
    return raw


REDIS_URL = env.parsed(
    "REDIS_URL",
    _valkey_url,
    default="redis://127.0.0.1:6379/0",
    meaning="URL of Valkey or Redis, as redis://:password@host:port/0, or of Sentinels, as"
    " sentinel://:password@host1:26379,host2:26379/0?service=NAME. It holds the task queue and the cache."
    " Redis Cluster is not supported.",
)
_SENTINELS = parse_sentinels(REDIS_URL)
NATS_URL = env.text(
    "NATS_URL",
    default="nats://127.0.0.1:4222",
    meaning="URL of NATS with JetStream, as nats://user:password@host:port. Separate the servers of a"
    " cluster by commas.",
)
NATS_REPLICAS = env.integer(
    "NATS_REPLICAS",
    default=1,
    minimum=1,
    maximum=5,
    meaning="Servers of a NATS cluster that store each message: 3 in a cluster of three or more, of which"
    " one may die. Streams that have fewer copies get more; none loses copies.",
)

CACHES = {
    "default": {
        "BACKEND": "controlplane.cluster.valkey.ValkeyCache",
        "LOCATION": REDIS_URL,
        # No request may hang on the cache, which is only an optimization.
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }
}

CELERY_BROKER_URL = _SENTINELS.broker_url if _SENTINELS else REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 300
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **(_SENTINELS.broker_options if _SENTINELS else {}),
    # Longer than CELERY_TASK_TIME_LIMIT, or a running task would be delivered again.
    "visibility_timeout": 360,
    # With these two, a killed worker's task is delivered again within the timeout; by default it took 104 s.
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
}

WORKER_ALIVE_FILE = env.text(
    "WORKER_ALIVE_FILE",
    default="",
    meaning="File that the worker touches every ten seconds while its loop runs, for probes. Empty: none.",
)

CELERY_BEAT_SCHEDULER = "controlplane.cluster.beat:LeaderScheduler"
_FILE_SOURCE_SCHEDULE = {
    "synchronise overrides with their folder": {
        "task": "overrides.synchronise_source",
        "schedule": OVERRIDES_RELOAD_SECONDS,
        "options": {"expires": OVERRIDES_RELOAD_SECONDS},
    },
}
# `expires` never exceeds the period, so that an outage leaves no backlog of sweeps.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "mark silent agents unavailable": {
        "task": "registry.sweep_leases",
        "schedule": SWEEP_INTERVAL_SECONDS,
        "options": {"expires": SWEEP_INTERVAL_SECONDS},
    },
    "run the timers of resources": {
        "task": "registry.sweep_resources",
        "schedule": 5,
        "options": {"expires": 5},
    },
    "end overdue leases of pools": {
        "task": "pools.sweep",
        "schedule": 1,
        "options": {"expires": 1},
    },
    "compare counts of pools with their leases": {
        "task": "pools.tend",
        "schedule": 30,
        "options": {"expires": 25},
    },
    "delete old records of dispatch": {
        "task": "registry.tend_resources",
        "schedule": 300,
        "options": {"expires": 250},
    },
    "recompute agent configurations for data planes": {
        "task": "registry.recompute_agent_configs",
        "schedule": AGENT_CONFIGS_RECOMPUTE_SECONDS,
        "options": {"expires": AGENT_CONFIGS_RECOMPUTE_SECONDS},
    },
    "probe the endpoints of published agents": {
        "task": "registry.probe_agent_endpoints",
        "schedule": AGENT_PROBE_LOOK_SECONDS,
        "options": {"expires": AGENT_PROBE_LOOK_SECONDS},
    },
    "record token usage of agents that send heartbeats": {
        "task": "registry.note_token_uses",
        "schedule": 600,
        "options": {"expires": 500},
    },
    "run bulk changes of agents": {
        "task": "registry.run_bulk_changes",
        "schedule": 1,
        "options": {"expires": 1},
    },
    "finish drains, retire and delete agents": {
        "task": "registry.tend_agents",
        "schedule": 60,
        "options": {"expires": 50},
    },
    "delete expired logins of OAuth clients, and warn of secrets that expire": {
        "task": "access.tidy_oauth",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "run scheduled changes of overrides": {
        "task": "overrides.run_due_changes",
        "schedule": 1,
        "options": {"expires": 1},
    },
    "follow overrides that set caps of pools": {
        "task": "overrides.follow_pool_limits",
        "schedule": 1,
        "options": {"expires": 1},
    },
    "release units of pools that ended executions hold": {
        "task": "overrides.release_pool_leases",
        "schedule": 30,
        "options": {"expires": 25},
    },
    "delete old executions of Flyte": {
        "task": "overrides.tend_flyte_executions",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "make partitions of the logs for the coming months": {
        "task": "retention.tend_partitions",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "archive and drop old partitions of the logs": {
        "task": "retention.retain",
        "schedule": 6 * 3600,
        "options": {"expires": 6 * 3000},
    },
    "seal the audit records of past days, and verify the seals": {
        "task": "retention.seal_audit",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "delete old deliveries and their attempts": {
        "task": "delivery.purge",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "delete expired idempotency keys": {
        "task": "api.purge_idempotency_keys",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    **(_FILE_SOURCE_SCHEDULE if OVERRIDES_SOURCE == "file" else {}),
}
