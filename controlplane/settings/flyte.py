"""For Flyte's clients: the gRPC port, and how much of their writes is checked."""

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

# Upstream, an empty last segment is an empty name, which has an error of its own.
PATHS_TAKEN_AS_SENT = tuple(
    f"/api/v1/{one}/"
    for one in (
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
    "FLYTE_GRPC_ADDRESS", default="127.0.0.1", meaning="The address where Flyte's gRPC clients are served."
)
FLYTE_GRPC_PORT = env.integer(
    "FLYTE_GRPC_PORT",
    default=8089,
    meaning="The port where Flyte's gRPC clients are served; FlyteAdmin's own is 8089 too.",
)
FLYTE_GRPC_THREADS = env.integer(
    "FLYTE_GRPC_THREADS",
    default=8,
    minimum=1,
    meaning="Threads that answer gRPC calls, each with a database connection of its own.",
)
FLYTE_GRPC_TLS_CERT = env.text(
    "FLYTE_GRPC_TLS_CERT",
    default="",
    meaning="A PEM file: the certificate chain of the gRPC port. Empty: no TLS.",
)
FLYTE_GRPC_TLS_KEY = env.text(
    "FLYTE_GRPC_TLS_KEY", default="", meaning="A PEM file: the private key of the gRPC port."
)
FLYTE_STRICT_VALIDATION = env.boolean(
    "FLYTE_STRICT_VALIDATION",
    default=True,
    meaning="Refuse what Flyte's clients send and upstream would store unchecked, such as bad quantities.",
)
BUILD_COMMIT = env.text("BUILD_COMMIT", default="", meaning="The commit that `GET /api/v1/version` tells.")
BUILD_TIME = env.text("BUILD_TIME", default="", meaning="The build's time that `GET /api/v1/version` tells.")

if bool(FLYTE_GRPC_TLS_CERT) != bool(FLYTE_GRPC_TLS_KEY):
    raise ImproperlyConfigured("FLYTE_GRPC_TLS_CERT and FLYTE_GRPC_TLS_KEY: set both, or neither.")
