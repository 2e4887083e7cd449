"""The interface to a cluster; `client` implements it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

EVERYWHERE = "*"


class ClusterError(Exception):
    """The API server returned an error or could not be reached.

    status: the HTTP status; 0 without a response. retry_after: seconds, from the server.
    """

    def __init__(self, reason: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = retry_after


class Cluster(Protocol):
    """All calls raise ClusterError; list and watch also VersionExpired. Namespaces may be EVERYWHERE."""

    def list_page(self, namespace: str, *, more: str) -> Any: ...

    def watch(self, namespace: str, version: str) -> AbstractContextManager[Iterator[bytes]]: ...

    def create_event(self, namespace: str, event: Mapping[str, Any]) -> None: ...

    def patch_event(self, namespace: str, name: str, patch: Mapping[str, Any]) -> None: ...
