"""Addresses of Valkey: one server, or Sentinels that know which server accepts writes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

_SENTINEL_PORT = 26379
_PARAMETERS = {"service", "sentinel_password"}


@dataclass(frozen=True, slots=True)
class Sentinels:
    """hosts: with their ports. service: the name under which they watch the servers."""

    hosts: tuple[tuple[str, int], ...]
    service: str
    database: int = 0
    username: str | None = None
    password: str | None = None
    sentinel_password: str | None = None

    @property
    def broker_url(self) -> str:
        """The same for Celery, which wants one URL for each Sentinel."""
        password = f":{quote(self.password, safe='')}@" if self.password else ""
        user = quote(self.username or "", safe="")
        return ";".join(
            f"sentinel://{user}{password}{host}:{port}/{self.database}" for host, port in self.hosts
        )

    @property
    def broker_options(self) -> dict[str, Any]:
        """What Celery wants to know beside its URL."""
        return {"master_name": self.service, "sentinel_kwargs": {"password": self.sentinel_password}}


def parse_sentinels(url: str) -> Sentinels | None:
    """Return the Sentinels of a URL; None for the URL of a server. Raises ValueError.

    url: sentinel://user:password@host1:26379,host2:26379/0?service=cp&sentinel_password=other. The first
    password is that of the servers.
    """
    if not url.startswith("sentinel://"):
        return None
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if unknown := sorted(set(query) - _PARAMETERS):
        raise ValueError(
            f"the parameter {unknown[0]!r} is unknown; known are {', '.join(sorted(_PARAMETERS))}"
        )
    if not query.get("service"):
        raise ValueError(
            "a URL of Sentinels needs ?service=NAME, the name under which they watch the servers"
        )
    return Sentinels(
        tuple(_host(host) for host in hosts.split(",")),
        query["service"],
        int(parts.path.strip("/") or 0),
        unquote(username) or None,
        unquote(password) or None,
        query.get("sentinel_password"),
    )


def _host(text: str) -> tuple[str, int]:
    host, _, port = text.strip().partition(":")
    if not host or (port and not port.isdigit()):
        raise ValueError(f"{text!r} is no host of a Sentinel")
    return host, int(port or _SENTINEL_PORT)
