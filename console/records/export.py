"""Audit records as JSON lines or CSV. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

# Spreadsheets evaluate cells that begin with these characters.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False, default=_plain)}\n" for record in records)


def as_csv(columns: Iterable[str], records: Iterable[Mapping[str, Any]]) -> str:
    header = list(columns)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_cell(record[name]) for name in header] for record in records)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = _plain(value) if not isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _plain(value: Any) -> str:
    """Format times as in RFC 3339."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
