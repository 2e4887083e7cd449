"""Starts and stops the export of traces, once in each process and after any fork.

The SDK reads its own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT: see controlplane.settings.traces.
"""

from __future__ import annotations

import threading
from typing import Any

from controlplane import __version__
from controlplane.observability.traces import spans

# A collector that cannot be reached must not delay the end of a process for longer: web workers have two
# seconds for what they close.
STOP_SECONDS = 1.5
# Of a span, characters of an attribute such as a statement.
_MOST_CHARACTERS = 2000
_provider: Any = None


def start(process: str, *, name: str, environment: str) -> None:
    """Export the spans of this process. process: such as `web`. name: before it, in `service.name`.

    environment: where this installation belongs, such as `production`.
    """
    global _provider  # noqa: PLW0603  (one for each process)
    if _provider is not None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from controlplane.observability.traces.recorder import OpenTelemetryRecorder

    limits = SpanLimits(max_attribute_length=_MOST_CHARACTERS)
    # Its own end of the process waits for the collector for half a minute.
    _provider = TracerProvider(
        resource=_resource(f"{name}-{process}", environment), shutdown_on_exit=False, span_limits=limits
    )
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    spans.use(OpenTelemetryRecorder(_provider.get_tracer("controlplane", __version__)))


def stop() -> None:
    """Send what is left, for at most a few seconds; then no more spans are made."""
    global _provider
    provider, _provider = _provider, None
    spans.use(None)
    if provider is None:
        return
    ending = threading.Thread(target=provider.shutdown, name="end of traces", daemon=True)
    ending.start()
    ending.join(STOP_SECONDS)


def _resource(service: str, environment: str) -> Any:
    """Return who exports. Attributes of OTEL_RESOURCE_ATTRIBUTES win, but for the name of the service."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    detected = OTELResourceDetector().detect().attributes
    # The second is the present name of the first.
    places = dict.fromkeys(("deployment.environment", "deployment.environment.name"), environment)
    stated_environment = next((str(detected[place]) for place in places if place in detected), environment)
    return Resource.create(
        {
            **dict.fromkeys(places, stated_environment),
            "service.version": __version__,
            **detected,
            "service.name": service,
        }
    )
