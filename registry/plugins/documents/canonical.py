"""The canonical JSON of a document, and its digest. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(document: Any) -> bytes:
    """Return the JSON that is the same for every order of members: sorted names, no spaces, UTF-8."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def digest(document: Any) -> str:
    """Return the SHA-256 of the canonical JSON in hexadecimal, the value of an ETag."""
    return hashlib.sha256(canonical_json(document)).hexdigest()
