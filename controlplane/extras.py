"""Optional parts of an installation, and whether their packages are there. Pure: docs/adr/0046."""

from __future__ import annotations

from importlib.util import find_spec

# What only that part needs.
_PACKAGES = {
    "flyte": ("flyteidl", "grpc", "grpc_health", "grpc_reflection"),
    "kubernetes": ("kubernetes",),
    "scim": ("scim2_models",),
    "apprise": ("apprise",),
    # Libraries bring the API without the SDK.
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}


EXTRAS = tuple(_PACKAGES)


def is_installed(extra: str) -> bool:
    return all(_is_there(package) for package in _PACKAGES[extra])


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def missing(extra: str) -> str:
    """For people: that it is not installed, and what to do."""
    return f"The extra `{extra}` is not installed: pip install --require-hashes -r requirements/runtime.txt"
