"""What the control plane asks of a cluster. `client` does it for real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

EVERYWHERE = "*"


class ClusterError(Exception):
    """The API server refused, or could not be reached.

    status: of HTTP; 0 if there was no answer. retry_after: seconds that it wants us to wait.
    """

    def __init__(self, reason: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = retry_after


class Cluster(Protocol):
    """Every call raises ClusterError; list and watch raise Expired, too. Namespaces may be EVERYWHERE."""

    def list_page(self, namespace: str, *, more: str) -> Any: ...

    def watch(self, namespace: str, version: str) -> AbstractContextManager[Iterator[bytes]]: ...

    def create_event(self, namespace: str, event: Mapping[str, Any]) -> None: ...

    def patch_event(self, namespace: str, name: str, patch: Mapping[str, Any]) -> None: ...
