"""Postgres: the system of record."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from controlplane.settings import environment as env
from controlplane.settings.access import ORGANISATIONS

__all__ = ["DATABASES"]

_DATABASE_URL = env.text(
    "DATABASE_URL",
    default="postgresql:///controlplane",
    meaning="URL of Postgres, as postgresql://user:password@host:port/name?sslmode=verify-full.",
)
_MAX_AGE = env.integer(
    "DATABASE_CONN_MAX_AGE",
    default=60,
    meaning="Seconds for which a connection is kept for further requests. 0 reduces the throughput by two"
    " thirds.",
)
# A longer request gets 503, so that one bad query cannot occupy all threads.
_STATEMENT_TIMEOUT = env.integer(
    "DATABASE_STATEMENT_TIMEOUT_MS",
    default=5000,
    meaning="Milliseconds after which Postgres cancels a statement. 0: never.",
)
# Shorter than the statement timeout, so that lock contention and slow queries give different errors.
_LOCK_TIMEOUT = env.integer(
    "DATABASE_LOCK_TIMEOUT_MS",
    default=2000,
    meaning="Milliseconds that a statement waits for a lock. 0: no limit.",
)
_IDLE_TIMEOUT_MS = 30_000

_DJANGO_NAMES = {
    "dbname": "NAME",
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
}


def _database(url: str) -> dict[str, Any]:
    try:
        parameters: dict[str, Any] = dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is invalid: {error}") from error
    limits = (
        f"-c statement_timeout={_STATEMENT_TIMEOUT} -c lock_timeout={_LOCK_TIMEOUT}"
        f" -c idle_in_transaction_session_timeout={_IDLE_TIMEOUT_MS}"
    )
    parameters["options"] = f"{parameters.get('options') or ''} {limits}".strip()
    parameters.setdefault("connect_timeout", 5)
    django_settings = {setting: parameters.pop(parameter, "") for parameter, setting in _DJANGO_NAMES.items()}
    return {
        "ENGINE": "controlplane.database.engine",
        # Row-level security limits one transaction, so a request must be one (ORGANISATIONS).
        "ATOMIC_REQUESTS": ORGANISATIONS,
        **django_settings,
        "OPTIONS": parameters,
        "CONN_MAX_AGE": _MAX_AGE,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": _database(_DATABASE_URL)}
