"""Password hashing in a separate thread with low priority.

A hash deliberately takes a quarter of a second of CPU time. Each process computes one at a time with low
priority, so that logins do not slow down other requests.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

_NICENESS = 5


class BackgroundPBKDF2(PBKDF2PasswordHasher):
    """Django's default algorithm; OpenSSL releases the GIL while it computes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        encode = super().encode
        return _thread().submit(encode, password, salt, iterations).result()


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="passwords", initializer=_lower_priority)


def _lower_priority() -> None:
    # On Linux each thread has its own niceness; elsewhere hashing keeps the normal priority.
    if sys.platform != "linux":
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
