"""Postgres: the system of record."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings import environment as env
from controlplane.settings.access import ORGANISATIONS
from controlplane.settings.database_parameters import django_database, read_url, with_limits, without_options

__all__ = [
    "DATABASES",
    "DATABASE_COMMIT_WAIT_SECONDS",
    "DATABASE_DIRECT",
    "DATABASE_LIMITS",
    "DATABASE_POOLER",
    "DATABASE_ROUTERS",
    "DATABASE_SLOW_STATEMENT_MS",
]

_POOLERS = ("none", "transaction")


def _pooler(raw: str) -> str:
    if raw not in _POOLERS:
        raise ValueError(f"{raw!r} is not one of {', '.join(_POOLERS)}")
    return raw


_DATABASE_URL = env.text(
    "DATABASE_URL",
    default="postgresql:///controlplane",
    meaning="URL of Postgres, as postgresql://user:password@host:port/name?sslmode=verify-full. With several"
    " hosts (host1:5432,host2:5432), the one that accepts writes is used.",
)
_DIRECT_URL = env.text(
    "DATABASE_DIRECT_URL",
    default="",
    meaning="URL of Postgres without a pooler, for what needs a session of its own: heartbeats, joins and"
    " reads on fast paths. Default: DATABASE_URL.",
)
DATABASE_POOLER = env.parsed(
    "DATABASE_POOLER",
    _pooler,
    default="none",
    meaning="What DATABASE_URL leads to: `none` (Postgres itself) or `transaction` (PgBouncer in transaction"
    " mode, which also needs DATABASE_DIRECT_URL, and `manage.py database_roles` once).",
)
_REPLICA_URL = env.text(
    "DATABASE_REPLICA_URL",
    default="",
    meaning="URL of read replicas, as postgresql://user:password@host1:5432,host2:5432/name, without a pooler"
    " of transactions. They answer lists, history, audit, events and exports with a stated staleness."
    " Default: the primary answers everything.",
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
DATABASE_COMMIT_WAIT_SECONDS = env.integer(
    "DATABASE_COMMIT_WAIT_SECONDS",
    default=10,
    meaning="Seconds that a commit may take until the response is 503 `outcome_unknown`: it hangs while no"
    " synchronous standby confirms it. 0: no limit.",
)
DATABASE_SLOW_STATEMENT_MS = env.integer(
    "DATABASE_SLOW_STATEMENT_MS",
    default=1000,
    meaning="Milliseconds after which a statement is logged (`database.slow_statement`), with the request id"
    " and without values. 0: never.",
)
# In milliseconds. Sent when a connection starts; behind a pooler, the roles have them instead.
DATABASE_LIMITS = {
    "statement_timeout": str(_STATEMENT_TIMEOUT),
    "lock_timeout": str(_LOCK_TIMEOUT),
    "idle_in_transaction_session_timeout": "30000",
}


def _parameters(name: str, url: str, **options: str) -> dict[str, Any]:
    try:
        return read_url(name, url, **options)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error


def _database() -> dict[str, Any]:
    parameters = _parameters("DATABASE_URL", _DATABASE_URL)
    is_pooled = DATABASE_POOLER == "transaction"
    parameters = without_options(parameters) if is_pooled else with_limits(parameters, DATABASE_LIMITS)
    return {
        **django_database(parameters),
        "ENGINE": "controlplane.database.engine",
        # Row-level security limits one transaction, so a request must be one (ORGANISATIONS).
        "ATOMIC_REQUESTS": ORGANISATIONS,
        "CONN_MAX_AGE": _MAX_AGE,
        "CONN_HEALTH_CHECKS": True,
        # A cursor on the server ends with its transaction's turn on the connection.
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
    }


def _direct() -> dict[str, Any] | None:
    if _DIRECT_URL:
        return with_limits(_parameters("DATABASE_DIRECT_URL", _DIRECT_URL), DATABASE_LIMITS)
    if DATABASE_POOLER != "none":
        raise ImproperlyConfigured(
            f"DATABASE_POOLER is {DATABASE_POOLER}, but DATABASE_DIRECT_URL is not set."
            " Set it to the URL of Postgres without the pooler: fast paths need sessions of their own."
        )
    return None


def _replicas() -> dict[str, dict[str, Any]]:
    if not _REPLICA_URL:
        return {}
    parameters = _parameters("DATABASE_REPLICA_URL", _REPLICA_URL, session="standby")
    if "," in str(parameters.get("host", "")):
        # Each new connection goes to any of them.
        parameters.setdefault("load_balance_hosts", "random")
    database = {
        **django_database(with_limits(parameters, DATABASE_LIMITS)),
        "ENGINE": "controlplane.database.engine",
        "CONN_MAX_AGE": _MAX_AGE,
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"MIRROR": "default"},
    }
    return {"replica": database}


DATABASES = {"default": _database(), **_replicas()}
DATABASE_ROUTERS = ["controlplane.replicas.router.ReplicaRouter"] if _REPLICA_URL else []
# Parameters of psycopg for connections that no pooler may share; None: those of Django.
DATABASE_DIRECT = _direct()
