"""External services of the operator, in DATABASE_URL, REDIS_URL and NATS_URL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from controlplane.local.data_folder import read_environment
from controlplane.local.errors import CannotStart
from controlplane.local.services import SETTING

_TIMEOUT_SECONDS = 3


def operator_environment(environ: Mapping[str, str], saved_files: Iterable[Path]) -> dict[str, str]:
    """Return the operator's environment variables, without those that settings/dev.py added.

    Those come from the saved files of a running or killed `make up`. If its services were taken for the
    operator's, a second start would wait for stopped services or share the database of running ones.
    """
    saved = {pair for file in saved_files for pair in read_environment(file).items()}
    return {name: value for name, value in environ.items() if (name, value) not in saved}


def external_urls(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for external services. NAME_FILE has precedence over NAME, as in the settings."""
    urls = {}
    for name in SETTING.values():
        value = _content(environ[f"{name}_FILE"]) if environ.get(f"{name}_FILE") else environ.get(name)
        if value:
            urls[name] = value
    return urls


def check_reachable(urls: Mapping[str, str]) -> None:
    """Raise CannotStart if one of the services is not usable."""
    for name, url in urls.items():
        problem = _CHECKS[name](url)
        if problem:
            raise CannotStart(
                f"{name} is set, but the service at {_without_password(url)} is not usable: {problem}\n"
                f"Start the service, or unset {name} to use the built-in one."
            )


def _content(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise CannotStart(f"Cannot read {file}: {error.strerror}.") from error


def _postgres_problem(url: str) -> str | None:
    try:
        psycopg.connect(url, connect_timeout=_TIMEOUT_SECONDS).close()
    except psycopg.Error as error:
        return str(error).strip()
    return None


def _redis_problem(url: str) -> str | None:
    from celery import Celery

    options = {"socket_connect_timeout": _TIMEOUT_SECONDS, "socket_timeout": _TIMEOUT_SECONDS}
    app = Celery(broker=url, broker_transport_options=options, set_as_current=False)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_SECONDS)
            connection.channel()
    except Exception as error:  # the broker's client has its own exceptions
        return str(error) or type(error).__name__
    return None


def _nats_problem(url: str) -> str | None:
    from controlplane.messaging.nats_questions import server_answers

    try:
        is_usable = server_answers(url, timeout=_TIMEOUT_SECONDS)
    except (ValueError, asyncio.CancelledError) as error:
        return str(error)
    return None if is_usable else "it does not respond or rejects the user"


_CHECKS = {
    "DATABASE_URL": _postgres_problem,
    "REDIS_URL": _redis_problem,
    "NATS_URL": _nats_problem,
}


def _without_password(url: str) -> str:
    password = urlsplit(url).password if "://" in url else None
    return url.replace(f":{password}@", ":***@") if password else url
