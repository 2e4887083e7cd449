"""The committed openapi.yaml, which is also what the API serves: the served document is the tested one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "openapi.yaml"


@cache
def document_text() -> bytes:
    """Return the OpenAPI document as YAML, read once."""
    return _FILE.read_bytes()
