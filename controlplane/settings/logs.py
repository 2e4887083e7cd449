"""Logs: one JSON line per event on standard output, in UTC, with the request id."""

from typing import Any

import structlog

from controlplane.observability.log_redaction import redact
from controlplane.observability.log_traces import LessOften, add_trace
from controlplane.settings import environment as env

__all__ = [
    "DJANGO_STRUCTLOG_CELERY_ENABLED",
    "DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL",
    "DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL",
    "DJANGO_STRUCTLOG_TRUST_UPSTREAM_CORRELATION_ID",
    "DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID",
    "LOGGING",
]

_FORMAT = env.text(
    "LOG_FORMAT",
    default="json",
    meaning="Log format: `json` for machines, `console` for people.",
    is_shown=True,
)
_LEVEL = env.text("LOG_LEVEL", default="INFO", meaning="Minimum severity of log lines.", is_shown=True)

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    add_trace,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    # Last, since the lines above can add a secret.
    redact,
]
structlog.configure(
    processors=[
        # First: a line that nobody sees costs nothing.
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)

DJANGO_STRUCTLOG_CELERY_ENABLED = True
# A client error is no warning for us: these levels alert an operator.
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = 20
# One line per request is enough.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = 10
# RequestIdMiddleware has already replaced unsafe ids.
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = True
DJANGO_STRUCTLOG_TRUST_UPSTREAM_CORRELATION_ID = False

# Fields of `extra=` that are logged. Libraries add others, which can be anything.
_FIELDS = (
    *("agent_id", "collector", "consumer", "count", "difference", "error", "host", "loop", "reason"),
    *("resource_id", "sink", "stream", "subject"),
)

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.dev.ConsoleRenderer(colors=False)
            if _FORMAT == "console"
            else structlog.processors.JSONRenderer(),
            "foreign_pre_chain": [structlog.stdlib.ExtraAdder(allow=_FIELDS), *_SHARED],
        }
    },
    "filters": {"less often": {"()": LessOften}},
    "handlers": {
        "out": {"class": "logging.StreamHandler", "formatter": "line"},
        "rarely": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["less often"]},
    },
    "root": {"handlers": ["out"], "level": _LEVEL},
    "loggers": {
        # Repeats, without the request id, what django_structlog logs.
        "django.request": {"level": "CRITICAL"},
        # Their debug lines contain tokens and codes.
        "oauthlib": {"level": "WARNING"},
        "oauth2_provider": {"level": "WARNING"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # A collector that cannot be reached is worth a line now and then.
        "opentelemetry": {"level": "WARNING", "handlers": ["rarely"], "propagate": False},
    },
}
