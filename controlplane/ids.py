"""Identifiers: UUID version 7 (RFC 9562), which sort by creation time. Pure.

They are generated here because Postgres has `uuidv7()` only since version 18.
"""

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """Return a new UUIDv7 with 48 bits of milliseconds and 74 random bits."""
    return uuid7_from(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)))


def uuid7_from(milliseconds: int, random_bits: int) -> UUID:
    """Return the UUIDv7 (RFC 9562 section 5.7) of a time and 80 random bits, of which 74 are used."""
    random_a = random_bits >> 68 & 0xFFF
    random_b = random_bits & (1 << 62) - 1
    return UUID(int=(milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b)
