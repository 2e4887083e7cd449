"""What the demo has done in an installation, in a file of its data folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from controlplane.local.data_folder import write_private

_FILE = "demo.loaded"


@dataclass(frozen=True, slots=True)
class DemoRecord:
    """tells: whether the story belongs to it: not in installations with the demo of an earlier version.

    receiver_port: where the demo's webhooks go. chapters: that are over. removed: it must not return.
    """

    tells: bool = False
    receiver_port: int = 0
    chapters: Sequence[str] = ()
    removed: bool = False


def read_record(folder: Path) -> DemoRecord | None:
    """Return the record of a data folder; None if the demo was never loaded."""
    try:
        text = (folder / _FILE).read_text()
    except FileNotFoundError:
        return None
    # Earlier versions wrote an empty file.
    return DemoRecord(**json.loads(text)) if text else DemoRecord()


def write_record(folder: Path, record: DemoRecord) -> None:
    write_private(folder / _FILE, json.dumps(asdict(record)))


def with_chapter(record: DemoRecord, name: str) -> DemoRecord:
    return replace(record, chapters=[*record.chapters, name])
