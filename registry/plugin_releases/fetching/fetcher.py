"""What a type of provider does to fetch a file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controlplane.formats import go_durations
from registry.plugins.documents.content import Provider

_SECONDS, _RETRIES = 300.0, 3


@dataclass(frozen=True, slots=True)
class Repository:
    """A provider that files are fetched from. secret: its credential, or empty."""

    provider: Provider
    is_platform: bool
    secret: str = field(default="", repr=False)

    @property
    def seconds(self) -> float:
        """How long a file may take, over all attempts."""
        timeout = self.provider.timeout
        return go_durations.parse(timeout) / go_durations.SECOND if timeout else _SECONDS

    @property
    def retries(self) -> int:
        return _RETRIES if self.provider.retries is None else self.provider.retries

    def path_of(self, path: str) -> str:
        """Return the path below the provider's address."""
        return f"{self.provider.prefix}/{path}" if self.provider.prefix else path


class Fetch(Protocol):
    """Fetches one file. Raises ControlplaneError or OSError, without credentials in the message."""

    def __call__(
        self, repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
    ) -> str:
        """Write the file to the target, and return its address without credentials."""
        ...
