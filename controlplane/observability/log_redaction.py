"""Removes secrets from log lines: tokens anywhere, and the values of sensitive query parameters."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

_TOKEN = re.compile(r"\b(cp_[a-z]{3}_[0-9A-Za-z]{4})[0-9A-Za-z]{4,}")
# Of logins and OAuth, and where people put a token or password by mistake.
_PARAMETER = re.compile(
    r"([?&](?:access_token|assertion|client_secret|code|code_verifier|device_code|id_token|id_token_hint"
    r"|logout_token|password|refresh_token|state|subject_token|token|user_code)=)[^&\s\"'<>]+",
    re.IGNORECASE,
)


def redact(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove secrets from the texts of a log line. A processor of structlog."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = redacted(value)
    return event


def redacted(text: str) -> str:
    """Return the text without secrets. A token keeps the characters that lists show."""
    if "cp_" in text:
        text = _TOKEN.sub(r"\1…", text)
    return _PARAMETER.sub(r"\1…", text) if "=" in text else text
