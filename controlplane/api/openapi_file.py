"""The committed openapi.yaml, which is also what the API serves: the served document is the tested one.

`python -m controlplane.api.openapi_file` writes openapi.json beside it, as `make up` and the image do.
To parse the YAML takes most of a second; the JSON, a fiftieth of that.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).resolve().parents[2] / "openapi.yaml"
_PARSED = _FILE.with_suffix(".json")


@cache
def document_text() -> bytes:
    """Return the OpenAPI document as YAML, read once."""
    return _FILE.read_bytes()


def parse(text: bytes, written: Path = _PARSED) -> dict[str, Any]:
    """Return the OpenAPI document: from the JSON if that was written of this text, else from the text."""
    # Not written, or not wholly: slower, and as good.
    with suppress(OSError, ValueError, TypeError, KeyError):
        content = json.loads(written.read_bytes())
        if content["sha256"] == sha256(text).hexdigest():
            return dict(content["document"])
    return dict(yaml.load(text, Loader=yaml.CSafeLoader))


def write_json(text: bytes, written: Path = _PARSED) -> None:
    """Write the JSON that `parse` reads."""
    document = yaml.load(text, Loader=yaml.CSafeLoader)
    written.write_text(json.dumps({"sha256": sha256(text).hexdigest(), "document": document}))


if __name__ == "__main__":
    write_json(document_text())
