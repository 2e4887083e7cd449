"""Flyte clients: the gRPC port, and validation of their writes."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings import environment as env

__all__ = [
    "BUILD_COMMIT",
    "BUILD_TIME",
    "FLYTE_GRPC_ADDRESS",
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
BUILD_COMMIT = env.text("BUILD_COMMIT", default="", meaning="Commit that `GET /api/v1/version` returns.")
BUILD_TIME = env.text("BUILD_TIME", default="", meaning="Build time that `GET /api/v1/version` returns.")

if bool(FLYTE_GRPC_TLS_CERT) != bool(FLYTE_GRPC_TLS_KEY):
    raise ImproperlyConfigured("Set both or neither of FLYTE_GRPC_TLS_CERT and FLYTE_GRPC_TLS_KEY.")
