"""Flyte clients: the gRPC port, validation of their writes, and events of Flyte's engine."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings import environment as env

__all__ = [
    "BUILD_COMMIT",
    "BUILD_TIME",
    "FLYTE_ADMIN_SECONDS",
    "FLYTE_ADMIN_URL",
    "FLYTE_CLOUD_EVENTS_FILE",
    "FLYTE_EVENTS",
    "FLYTE_EVENT_BYTES",
    "FLYTE_EVENT_TYPES",
    "FLYTE_EXECUTIONS_DAYS",
    "FLYTE_GRPC_ADDRESS",
    "FLYTE_GRPC_CONNECTION_SECONDS",
    "FLYTE_GRPC_PORT",
    "FLYTE_GRPC_THREADS",
    "FLYTE_GRPC_TLS_CERT",
    "FLYTE_GRPC_TLS_KEY",
    "FLYTE_STRICT_VALIDATION",
    "PATHS_TAKEN_AS_SENT",
]

# Upstream treats an empty last segment as an empty name, which has its own error.
PATHS_TAKEN_AS_SENT = tuple(
    f"/api/v1/{collection}/"
    for collection in (
        "domains",
        "matchable_attributes",
        "project_attributes",
        "project_domain_attributes",
        "projects",
        "version",
        "workflow_attributes",
    )
)
FLYTE_GRPC_ADDRESS = env.text(
    "FLYTE_GRPC_ADDRESS", default="127.0.0.1", meaning="Address on which Flyte's gRPC clients are served."
)
FLYTE_GRPC_CONNECTION_SECONDS = env.integer(
    "FLYTE_GRPC_CONNECTION_SECONDS",
    default=600,
    minimum=0,
    meaning="Time, a fifth more or less, after which gRPC clients reconnect, so that servers that were added"
    " get calls. 0: never.",
)
FLYTE_GRPC_PORT = env.integer(
    "FLYTE_GRPC_PORT",
    default=8089,
    meaning="Port on which Flyte's gRPC clients are served. FlyteAdmin's default is 8089 too.",
)
FLYTE_GRPC_THREADS = env.integer(
    "FLYTE_GRPC_THREADS",
    default=8,
    minimum=1,
    meaning="Threads for gRPC calls, each with its own database connection.",
)
FLYTE_GRPC_TLS_CERT = env.text(
    "FLYTE_GRPC_TLS_CERT",
    default="",
    meaning="PEM file with the certificate chain of the gRPC port. Empty: no TLS.",
)
FLYTE_GRPC_TLS_KEY = env.text(
    "FLYTE_GRPC_TLS_KEY", default="", meaning="PEM file with the private key of the gRPC port."
)
FLYTE_STRICT_VALIDATION = env.boolean(
    "FLYTE_STRICT_VALIDATION",
    default=True,
    meaning="Reject writes of Flyte clients that upstream would store unchecked, such as invalid quantities.",
)
_EVENT_TYPES = ("workflow", "node", "task")


def _mode(raw: str) -> str:
    if raw not in ("off", "store", "relay"):
        raise ValueError(f"{raw!r} is none of off, store, relay")
    return raw


def _event_types(raw: str) -> tuple[str, ...]:
    names = [name.strip() for name in raw.split(",") if name.strip()]
    if unknown := sorted(set(names) - {*_EVENT_TYPES, "all", "*"}):
        raise ValueError(f"unknown types {', '.join(unknown)}; choose of all, workflow, node, task")
    return _EVENT_TYPES if {"all", "*"} & set(names) else tuple(names)


def _admin_url(raw: str) -> str:
    parts = urlsplit(raw)
    if raw and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
        raise ValueError("it must be an address such as http://flyteadmin.flyte:80")
    return raw.rstrip("/")


FLYTE_EVENTS = env.parsed(
    "FLYTE_EVENTS",
    _mode,
    default="off",
    meaning="What happens to events that Flyte's engine sends. `off`: they are refused as calls that do not"
    " exist. `store`: they are recorded here. `relay`: they go on to FLYTE_ADMIN_URL first, and what it"
    " accepts is recorded.",
)
FLYTE_ADMIN_URL = env.parsed(
    "FLYTE_ADMIN_URL",
    _admin_url,
    default="",
    meaning="HTTP address of FlyteAdmin, to which FLYTE_EVENTS=relay sends events, such as"
    " http://flyteadmin.flyte:80.",
)
FLYTE_ADMIN_SECONDS = env.integer(
    "FLYTE_ADMIN_SECONDS",
    default=10,
    minimum=1,
    maximum=20,
    meaning="How long FlyteAdmin may take to answer an event.",
)
FLYTE_EVENT_TYPES = env.parsed(
    "FLYTE_EVENT_TYPES",
    _event_types,
    default="all",
    meaning="Which events of Flyte's engine go into the event log, comma-separated: all, workflow, node,"
    " task. Others are answered in the same way.",
)
FLYTE_EXECUTIONS_DAYS = env.integer(
    "FLYTE_EXECUTIONS_DAYS",
    default=90,
    minimum=1,
    meaning="After how many days without an event the phases of an execution are deleted.",
)
FLYTE_CLOUD_EVENTS_FILE = env.text(
    "FLYTE_CLOUD_EVENTS_FILE",
    default="",
    meaning="YAML file with Flyte's `cloudEvents:` and `externalEvents:`, which become sinks at the start.",
)
# Events hold inputs and outputs of tasks, so that they can be larger than other requests.
FLYTE_EVENT_BYTES = 10 * 1024 * 1024
BUILD_COMMIT = env.text(
    "BUILD_COMMIT",
    default="",
    meaning="Commit that `GET /api/v1/version` and `GET /api/v1/meta` return.",
    is_shown=True,
)
BUILD_TIME = env.text("BUILD_TIME", default="", meaning="Build time that `GET /api/v1/version` returns.")

if bool(FLYTE_GRPC_TLS_CERT) != bool(FLYTE_GRPC_TLS_KEY):
    raise ImproperlyConfigured("Set both or neither of FLYTE_GRPC_TLS_CERT and FLYTE_GRPC_TLS_KEY.")
if FLYTE_EVENTS == "relay" and not FLYTE_ADMIN_URL:
    raise ImproperlyConfigured(
        "FLYTE_EVENTS=relay needs FLYTE_ADMIN_URL, such as http://flyteadmin.flyte:80."
    )
