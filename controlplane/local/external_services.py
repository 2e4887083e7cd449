"""Services that the operator brings along, named by DATABASE_URL, REDIS_URL and NATS_URL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from controlplane.local.errors import CannotStart
from controlplane.local.saved_environment import read_environment
from controlplane.local.services import SETTING

_TIMEOUT_SECONDS = 3


def operators_words(environ: Mapping[str, str], notes: Iterable[Path]) -> dict[str, str]:
    """What the operator said, without what settings/dev.py has added to it.

    It reads the notes that a running or killed `make up` left. They name that one's services: taken
    for the operator's, a second start would wait for the dead, or share the database of the living.
    """
    noted = {pair for note in notes for pair in read_environment(note).items()}
    return {name: value for name, value in environ.items() if (name, value) not in noted}


def given_services(words: Mapping[str, str]) -> dict[str, str]:
    """DATABASE_URL and so on, as far as they are set. NAME_FILE goes before NAME, as in the settings."""
    given = {}
    for name in SETTING.values():
        value = _content(words[f"{name}_FILE"]) if words.get(f"{name}_FILE") else words.get(name)
        if value:
            given[name] = value
    return given


def check_reachable(given: Mapping[str, str]) -> None:
    """Raises CannotStart if one of them does not answer."""
    for name, url in given.items():
        trouble = _TROUBLE[name](url)
        if trouble:
            raise CannotStart(
                f"{name} is set, but nothing usable answers at {_without_password(url)}: {trouble}\n"
                f"Start that service, or unset {name} to get a built-in one."
            )


def _content(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise CannotStart(f"{file} cannot be read: {error.strerror}") from error


def _trouble_with_postgres(url: str) -> str | None:
    try:
        psycopg.connect(url, connect_timeout=_TIMEOUT_SECONDS).close()
    except psycopg.Error as error:
        return str(error).strip()
    return None


def _trouble_with_redis(url: str) -> str | None:
    from celery import Celery

    options = {"socket_connect_timeout": _TIMEOUT_SECONDS, "socket_timeout": _TIMEOUT_SECONDS}
    app = Celery(broker=url, broker_transport_options=options, set_as_current=False)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_SECONDS)
            connection.channel()
    except Exception as error:  # the broker's client raises its own kinds
        return str(error) or type(error).__name__
    return None


def _trouble_with_nats(url: str) -> str | None:
    from controlplane.messaging.nats import server_answers

    try:
        answers = server_answers(url, timeout=_TIMEOUT_SECONDS)
    except (ValueError, asyncio.CancelledError) as error:
        return str(error)
    return None if answers else "no answer, or it does not accept the user"


_TROUBLE = {
    "DATABASE_URL": _trouble_with_postgres,
    "REDIS_URL": _trouble_with_redis,
    "NATS_URL": _trouble_with_nats,
}


def _without_password(url: str) -> str:
    password = urlsplit(url).password if "://" in url else None
    return url.replace(f":{password}@", ":***@") if password else url
