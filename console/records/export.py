"""Audit records as text: JSON lines for machines, CSV for spreadsheets. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

# What a spreadsheet would run instead of showing it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(one, ensure_ascii=False, default=_plain)}\n" for one in records)


def as_csv(names: Iterable[str], records: Iterable[Mapping[str, Any]]) -> str:
    columns = list(names)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(one[name]) for name in columns] for one in records)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    said = _plain(value) if not isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)
    return f"'{said}" if said.startswith(_FORMULA) else said


def _plain(value: Any) -> str:
    """A time as RFC 3339 has it."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
