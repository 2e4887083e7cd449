"""Postgres: the record of everything."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from controlplane.settings import environment as env

__all__ = ["DATABASES"]

_DATABASE_URL = env.text(
    "DATABASE_URL",
    default="postgresql:///controlplane",
    meaning="Postgres, as postgresql://user:password@host:port/name?sslmode=verify-full.",
)
_MAX_AGE = env.integer(
    "DATABASE_CONN_MAX_AGE",
    default=60,
    meaning="Seconds that a connection is kept for the next request. 0 costs two thirds of the speed.",
)
# A request that takes longer is answered 503, so that one bad query cannot hold all the threads.
_STATEMENT_TIMEOUT = env.integer(
    "DATABASE_STATEMENT_TIMEOUT_MS",
    default=5000,
    meaning="Milliseconds after which Postgres gives up on one statement. 0 means never.",
)
# Shorter than the statement timeout, so that a lock storm is told apart from a slow query.
_LOCK_TIMEOUT = env.integer(
    "DATABASE_LOCK_TIMEOUT_MS",
    default=2000,
    meaning="Milliseconds that a statement waits for a lock. 0 means for ever.",
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
        said: dict[str, Any] = dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be used: {error}") from error
    limits = (
        f"-c statement_timeout={_STATEMENT_TIMEOUT} -c lock_timeout={_LOCK_TIMEOUT}"
        f" -c idle_in_transaction_session_timeout={_IDLE_TIMEOUT_MS}"
    )
    said["options"] = f"{said.get('options') or ''} {limits}".strip()
    said.setdefault("connect_timeout", 5)
    known = {ours: said.pop(theirs, "") for theirs, ours in _DJANGO_NAMES.items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **known,
        "OPTIONS": said,
        "CONN_MAX_AGE": _MAX_AGE,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": _database(_DATABASE_URL)}
