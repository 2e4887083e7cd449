"""Masks secrets in specs, outputs, messages and events before a page shows them. Pure.

A spec should contain no secrets, but everyone who may read a resource sees its page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.observability.log_redaction import redacted

MASK = "********"
_SECRET_NAME = re.compile(
    r"(password|passwd|passphrase|passcode|secrets?|tokens?|apikey|privatekey|accesskey|secretkey|signingkey"
    r"|encryptionkey|credentials?|authorization|cookie|connectionstring|dsn)$"
)
# Numbers such as `max_tokens` are amounts.
_AMOUNT = re.compile(r"tokens$")
# Members that say where a secret is, and not what it is.
_REFERENCES = frozenset({"name", "key", "namespace", "optional", "path", "secretname", "user", "username"})
_SEPARATORS = re.compile(r"[^a-z0-9]")
_USER_INFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@", re.IGNORECASE)
_CREDENTIALS = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL
)


def masked(value: Any, *, name: str = "") -> Any:
    """Return the value with each secret replaced, by the names of members and by what texts look like.

    name: of the member that has the value.
    """
    if isinstance(value, Mapping):
        return {key: masked(item, name=_name_of(str(key), value, name)) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [masked(item, name=name) for item in value]
    if is_secret_name(name) and not _is_harmless(value, name):
        return MASK
    return _masked_text(value) if isinstance(value, str) else value


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name has a secret: `dbPassword`, `API_KEY`, but not `secretName`."""
    return bool(_SECRET_NAME.search(_SEPARATORS.sub("", name.lower())))


def _name_of(key: str, members: Mapping[Any, Any], outer: str) -> str:
    """Return the name that tells whether a member is secret. outer: of the object that has the members."""
    if _SEPARATORS.sub("", key.lower()) in _REFERENCES:
        return key
    # As Kubernetes lists variables: {"name": "DB_PASSWORD", "value": "…"}.
    label = members.get("name")
    if key == "value" and isinstance(label, str) and is_secret_name(label):
        return label
    return outer if is_secret_name(outer) else key


def _is_harmless(value: Any, name: str) -> bool:
    """True for what is no secret, whatever its name: nothing, a switch, an amount."""
    is_amount = isinstance(value, int | float) and bool(_AMOUNT.search(name.lower()))
    return value is None or value == "" or isinstance(value, bool) or is_amount


def _masked_text(text: str) -> str:
    text = _USER_INFO.sub(rf"\1{MASK}@", redacted(text))
    text = _CREDENTIALS.sub(rf"\1 {MASK}", text)
    return _PRIVATE_KEY.sub(MASK, text)
