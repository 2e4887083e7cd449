"""JSON of models and of plain values. `make sdk` copies this file into the generated package."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Return what is sent for a value: a model as its dict, dicts and everything else unchanged."""
    return value.to_dict() if hasattr(value, "to_dict") else value
