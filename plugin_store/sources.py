"""Where the bytes of an archive come from. Fetching is the caller's part; local files are here."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from plugin_store.errors import SourceFailed


class ByteSource(Protocol):
    """An archive that can be read once. `size` is None where it is known only afterwards."""

    @property
    def size(self) -> int | None: ...

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the archive; raises SourceFailed or OSError."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFile:
    """An archive that is a file on this machine."""

    path: Path

    @property
    def size(self) -> int | None:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return None

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the file; raises SourceFailed."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise SourceFailed(
                f"The archive {self.path} cannot be read.",
                why=f"{error.strerror}.",
                advice="Check its path and its permissions.",
            ) from error
