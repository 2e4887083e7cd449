"""Fetches from providers of type `file`: a folder of the node, for the platform alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from controlplane.errors import RemoteFailed
from registry.plugin_releases.fetching.fetcher import Repository


def fetch(
    repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> str:
    """Copy the file. Raises RemoteFailed for one that leads outside the folder, OSError."""
    root = Path(repository.provider.settings["root"]).resolve()
    source = (root / repository.path_of(path)).resolve()
    if not repository.is_platform or not source.is_relative_to(root):
        raise RemoteFailed("The file is outside the folder of its provider.")
    try:
        size = source.stat().st_size
        if size > max_bytes:
            raise RemoteFailed(f"The file has more than {max_bytes:,} bytes.")
        shutil.copyfile(source, target)
    except OSError as error:
        raise RemoteFailed(f"The file {path} of the provider cannot be read: {error.strerror}.") from error
    count(size)
    return source.as_uri()
