"""The folder that overrides come from, as the state of the installation shows it."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.installation.facts import Source
from overrides.file_source.synchronise import CURRENT, DATABASE, source_state


def followed_folder() -> Iterator[Source]:
    """Yield the folder if overrides come from files."""
    folder = source_state()
    if folder["state"] != DATABASE:
        yield Source(
            name="overrides: folder",
            state=folder["state"],
            is_stale=folder["state"] != CURRENT,
            checked_at=folder["checked_at"],
            loaded_at=folder["loaded_at"],
            problems=len(folder["errors"]),
        )
