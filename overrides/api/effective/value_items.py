"""Values of a scope without their sources, as in streams and snapshots: each scope with its own ETag."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from overrides.api.effective.batch_schemas import show_values
from overrides.effective.results import EffectiveValues
from overrides.resolution.merging import canonical


@dataclass(frozen=True, slots=True)
class ValueItem:
    """etag: with quotes; of the values alone, so that a change that alters no value here alters no ETag."""

    content: dict[str, Any]
    etag: str


def value_item(values: EffectiveValues) -> ValueItem:
    content = show_values(values)
    etag = f'"{hashlib.sha256(canonical(content).encode()).hexdigest()[:32]}"'
    return ValueItem({**content, "etag": etag}, etag)
