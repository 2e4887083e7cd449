"""Clients of Valkey, which find the server that accepts writes if Sentinels watch several."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis
from redis.sentinel import Sentinel

from controlplane.cluster.valkey_address import parse_sentinels


def client_of(url: str, **options: Any) -> Redis:
    """Return a client. options: of its connections, such as socket_timeout in seconds."""
    sentinels = parse_sentinels(url)
    if sentinels is None:
        return Redis.from_url(url, **options)
    watchers = Sentinel(  # type: ignore[no-untyped-call]  # its library has no types
        sentinels.hosts, sentinel_kwargs={**options, "password": sentinels.sentinel_password}, **options
    )
    primary: Redis = watchers.master_for(  # type: ignore[no-untyped-call]  # the same
        sentinels.service, db=sentinels.database, username=sentinels.username, password=sentinels.password
    )
    return primary


class _CacheClient(RedisCacheClient):
    """Django's client, which knows servers alone."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **options)
        self._connect = lru_cache(lambda: client_of(servers[0], **options))

    def get_client(self, key: Any = None, *, write: bool = False) -> Redis:
        """Return the one client: a replica could be behind what was written."""
        return self._connect()


class ValkeyCache(RedisCache):
    """Django's cache at one server, or at those that Sentinels watch."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        # A URL of Sentinels has commas, at which Django splits it.
        self._servers = [server]
        self._class = _CacheClient
