"""Values of JSON that only some of Flyte's messages have: bytes, floats and times. Pure.

Source: protobuf-go's protojson (encoding/protojson/decode.go, well_known_types.go).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

_URL_ALPHABET = str.maketrans("-_", "+/")
_NAMED_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LARGEST_FLOAT = 3.4028234663852886e38
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def bytes_of(text: str) -> bytes | None:
    """Return the bytes of either alphabet of base64, with padding or without; None if it is none."""
    plain = text.translate(_URL_ALPHABET).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def float_of(text: str, *, is_name: bool, is_single: bool) -> float | None:
    """Return the number, or None. is_name: names of special values are allowed."""
    if is_name and text in _NAMED_FLOATS:
        return _NAMED_FLOATS[text]
    try:
        number = float(text)
    except ValueError:
        return None
    is_in_range = math.isfinite(number) and (not is_single or abs(number) <= _LARGEST_FLOAT)
    return number if is_in_range else None


def read_time(stamp: Any, text: str) -> bool:
    """Set a google.protobuf.Timestamp; return whether the text is one."""
    if not _TIME.fullmatch(text):
        return False
    try:
        stamp.FromJsonString(text)
    except ValueError:
        return False
    return True
