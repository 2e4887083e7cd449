"""Numbers and Kubernetes quantities. Pure.

The grammar is that of apimachinery's resource/quantity.go without a sign.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

QUANTITY = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?")
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3,
    **{letter: Decimal(10) ** (3 * power) for power, letter in enumerate("MGTPE", start=2)},
}
_SCALES = {**_DECIMAL, **_BINARY}


def amount(value: Any) -> Decimal | None:
    """Return the number or quantity as a decimal; None if it is neither.

    "500m" is 0.5, "2Gi" is 2147483648, "1E" is 10**18 and "1E3" is 1000.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) and len(value) <= 64 else None
    if match is None:
        return None
    digits, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _SCALES:
        return digits * _SCALES[suffix]
    return digits * Decimal(10) ** int(suffix[1:])
