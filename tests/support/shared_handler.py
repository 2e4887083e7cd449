"""One chain of middleware for all test clients.

Each client would build its own, and WhiteNoise reads every static file each time. Clients that come after a
change of a setting that middleware reads when it is built get a new chain.
"""

from __future__ import annotations

from typing import Any, ClassVar

import django.test.client
from django.test.client import ClientHandler
from django.test.signals import setting_changed

_READ_WHEN_BUILT = ("MIDDLEWARE", "DEBUG", "ROOT_URLCONF", "SECURE_", "STATIC", "WHITENOISE_")


class SharedHandler(ClientHandler):
    """The same object for everybody who creates one. Classes below it are as they were."""

    current: ClassVar[dict[bool, SharedHandler]] = {}

    def __new__(cls, enforce_csrf_checks: bool = True, *args: Any, **kwargs: Any) -> Any:
        if cls is not SharedHandler:
            return super().__new__(cls)
        if enforce_csrf_checks not in cls.current:
            cls.current[enforce_csrf_checks] = super().__new__(cls)
        return cls.current[enforce_csrf_checks]


def share_handlers() -> None:
    """From now on `Client()` takes a handler that is there already."""
    setting_changed.connect(_forget, weak=False, dispatch_uid="tests.shared_handler")
    django.test.client.ClientHandler = SharedHandler  # type: ignore[misc]


def _forget(setting: str, **change: Any) -> None:
    if setting.startswith(_READ_WHEN_BUILT):
        SharedHandler.current.clear()
