"""Where everything of a store is, below its root."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from plugin_store.durable_files import flush_folder, make_folder
from plugin_store.manifest import MANIFEST_FILE_NAME

_SCRATCH_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The paths of a store."""

    root: Path

    @property
    def manifest(self) -> Path:
        return self.root / MANIFEST_FILE_NAME

    @property
    def folders(self) -> Path:
        return self.root / "store"

    @property
    def staging(self) -> Path:
        return self.root / ".staging"

    @property
    def lock(self) -> Path:
        return self.root / ".lock"

    def folder(self, name: str) -> Path:
        """The path of a folder that the manifest names."""
        return self.folders / name

    def new_scratch(self) -> Path:
        """A name in the staging folder that nothing has yet."""
        return self.staging / uuid4().hex

    def make(self) -> None:
        """Make the folders of the store."""
        self.root.mkdir(parents=True, exist_ok=True)
        make_folder(self.folders)
        make_folder(self.staging)

    def sweep_staging(self) -> None:
        """Remove what an interrupted run left. Only under the lock; foreign names stay."""
        for path in self.staging.iterdir():
            if is_scratch(path):
                remove(path)

    def discard(self, folder: Path) -> None:
        """Remove a folder of the store at once for readers: it leaves its place before it is emptied."""
        scratch = self.new_scratch()
        folder.rename(scratch)
        flush_folder(folder.parent)
        remove(scratch)


def is_scratch(path: Path) -> bool:
    """Whether a path of the staging folder has a name that the store gave it."""
    return bool(_SCRATCH_NAME.fullmatch(path.name))


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
