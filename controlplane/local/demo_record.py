"""What the demo has done in an installation, in a file of its data folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from controlplane.local.data_folder import write_private

_FILE = "demo.loaded"


@dataclass(frozen=True, slots=True)
class DemoRecord:
    """tells: whether the story belongs to it: not in installations with the demo of an earlier version.

    receiver_port: where the demo's webhooks go. chapters: that are over.
    """

    tells: bool = False
    receiver_port: int = 0
    chapters: Sequence[str] = ()


_FIELDS = {field.name for field in fields(DemoRecord)}


def read_record(folder: Path) -> DemoRecord | None:
    """Return the record of a data folder; None if the demo was never loaded."""
    try:
        text = (folder / _FILE).read_text()
    except FileNotFoundError:
        return None
    # Earlier versions wrote an empty file, and later ones may write more.
    values = json.loads(text or "{}")
    return DemoRecord(**{name: value for name, value in values.items() if name in _FIELDS})


def write_record(folder: Path, record: DemoRecord) -> None:
    write_private(folder / _FILE, json.dumps(asdict(record)))


def with_chapter(record: DemoRecord, name: str) -> DemoRecord:
    return replace(record, chapters=[*record.chapters, name])
