"""Parameters of connections to Postgres, from URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

# A machine that dies closes no connection. Without these, a request on one hangs for a quarter of an hour.
FAILURE_DETECTION: Mapping[str, Any] = {
    # Seconds for each host of the URL.
    "connect_timeout": 3,
    # Seconds of silence, seconds between probes, and lost probes until a connection is closed.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    # Milliseconds until data must be acknowledged: keepalives are not sent while data is on its way.
    "tcp_user_timeout": 5000,
}
_DJANGO_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def read_url(name: str, url: str, *, session: str = "read-write") -> dict[str, Any]:
    """Return the parameters in a URL, with defaults that notice a dead machine. Raises ValueError.

    name: of the setting. session: of several hosts, which one is used (`target_session_attrs`), unless the
    URL says else.
    """
    try:
        parameters: dict[str, Any] = dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        raise ValueError(f"{name} is invalid: {error}") from error
    for parameter, value in FAILURE_DETECTION.items():
        parameters.setdefault(parameter, value)
    if "," in str(parameters.get("host", "")):
        # A standby accepts connections too, and would refuse every write.
        parameters.setdefault("target_session_attrs", session)
    return parameters


def with_limits(parameters: Mapping[str, Any], limits: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters, with limits that Postgres applies when the connection starts."""
    options = " ".join(f"-c {name}={value}" for name, value in limits.items())
    return {**parameters, "options": f"{parameters.get('options') or ''} {options}".strip()}


def without_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that PgBouncer accepts: it refuses connections with options."""
    return {name: value for name, value in parameters.items() if name != "options"}


def django_database(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as Django names them."""
    names = {setting: parameters.get(parameter, "") for parameter, setting in _DJANGO_NAMES.items()}
    others = {name: value for name, value in parameters.items() if name not in _DJANGO_NAMES}
    return {**names, "OPTIONS": others}
