"""Identifiers: UUID version 7 (RFC 9562), whose order is the order of creation. Pure.

Made here and not in Postgres, because `uuidv7()` exists only from Postgres 18 on.
"""

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """Return a new UUIDv7: 48 bits of milliseconds, 74 random bits."""
    return uuid7_from(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)))


def uuid7_from(milliseconds: int, random_bits: int) -> UUID:
    """Lay out a UUIDv7 (RFC 9562 section 5.7) from its time and 80 random bits, of which 74 are used."""
    random_a = random_bits >> 68 & 0xFFF
    random_b = random_bits & (1 << 62) - 1
    return UUID(int=(milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b)
