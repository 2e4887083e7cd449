"""Traces by OpenTelemetry, with its own variables. Off unless an endpoint is set. See docs/adr/0075."""

from __future__ import annotations

import os

from django.core.exceptions import ImproperlyConfigured

from controlplane.extras import is_installed, missing
from controlplane.settings import environment as env

__all__ = ["TRACES_ENVIRONMENT", "TRACES_ON", "TRACES_SERVICE"]

_SAMPLERS = {
    *("always_on", "always_off", "traceidratio"),
    *("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"),
}


def _sampler(raw: str) -> str:
    if raw not in _SAMPLERS:
        raise ValueError(f"{raw!r} is none of {', '.join(sorted(_SAMPLERS))}")
    return raw


def _share(raw: str) -> str:
    if not 0 <= float(raw) <= 1:
        raise ValueError("must be from 0 to 1")
    return raw


def _exporter(raw: str) -> str:
    if raw not in ("otlp", "none"):
        raise ValueError(f"{raw!r} is neither otlp nor none")
    return raw


def _protocol(raw: str) -> str:
    if raw != "http/protobuf":
        raise ValueError(f"{raw!r} is not http/protobuf, the only protocol that we speak")
    return raw


_ENDPOINT = env.text(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    default="",
    meaning="URL of an OpenTelemetry collector, such as http://127.0.0.1:4318. It gets traces by OTLP/HTTP."
    " Empty: no traces. Needs the extra `otel`. The SDK's other variables, such as"
    " OTEL_EXPORTER_OTLP_CERTIFICATE, have their usual meaning.",
)
_TRACES_ENDPOINT = env.text(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    default="",
    meaning="The same for traces alone, with the path, such as http://127.0.0.1:4318/v1/traces.",
)
_HEADERS = env.text(
    "OTEL_EXPORTER_OTLP_HEADERS",
    default="",
    meaning="Headers for the collector, such as authorization=Bearer%20secret, separated by commas.",
)
_PROTOCOL = env.parsed(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    _protocol,
    default="http/protobuf",
    meaning="Protocol of the collector: http/protobuf.",
)
_EXPORTER = env.parsed(
    "OTEL_TRACES_EXPORTER", _exporter, default="otlp", meaning="Exporter of traces: otlp, or none."
)
_DISABLED = env.boolean(
    "OTEL_SDK_DISABLED", default=False, meaning="Turn traces off, whatever else is configured."
)
_SAMPLER = env.parsed(
    "OTEL_TRACES_SAMPLER",
    _sampler,
    default="parentbased_traceidratio",
    meaning="Which traces are recorded. With a sampler whose name begins with parentbased, the `traceparent`"
    " header of a caller decides if there is one.",
)
_SHARE = env.parsed(
    "OTEL_TRACES_SAMPLER_ARG",
    _share,
    default="0.01",
    meaning="Share of traces that samplers with traceidratio record: 0.01 is one of a hundred.",
)
_TIMEOUT = env.integer(
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    default=5,
    minimum=1,
    meaning="Seconds after which an export fails. No request waits for exports.",
)
TRACES_SERVICE = env.text(
    "OTEL_SERVICE_NAME",
    default="controlplane",
    meaning="First part of `service.name`, which the kind of process follows, as in controlplane-web.",
)
TRACES_ENVIRONMENT = env.text(
    "TRACES_ENVIRONMENT",
    default="production",
    meaning="`deployment.environment` of traces, such as staging. OTEL_RESOURCE_ATTRIBUTES can name it too.",
)

TRACES_ON = bool(_ENDPOINT or _TRACES_ENDPOINT) and _EXPORTER == "otlp" and not _DISABLED

if TRACES_ON:
    if not is_installed("otel"):
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces cannot be exported."
            f" {missing('otel')}, or unset the endpoint."
        )
    # The SDK reads them itself. Its own defaults would record every trace.
    os.environ["OTEL_TRACES_SAMPLER"] = _SAMPLER
    os.environ["OTEL_TRACES_SAMPLER_ARG"] = _SHARE
    os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = str(_TIMEOUT)
    for _name, _value in (
        ("OTEL_EXPORTER_OTLP_ENDPOINT", _ENDPOINT),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", _TRACES_ENDPOINT),
        ("OTEL_EXPORTER_OTLP_HEADERS", _HEADERS),
    ):
        if _value:
            os.environ[_name] = _value
