"""Find credentials in a document, and take out those that are accepted on write. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field

HINT = "Store the secret, and refer to it with auth: {type: ..., secretRef: <name>}."
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:pass(?:word|wd|phrase)|secret|token|(?:api|private|access|secret|account)_?key|credentials?"
    r"|service_account)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_VALUE = re.compile(
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY|\"private_key\"\s*:|://[^/@:\s]*:[^/@\s]*@"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bxox[abprs]-[0-9A-Za-z-]{10}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."
)
# Base64 of text that begins with `{"`, `{ `, `{\n`, `{\r` or `-----BEGIN`.
_ENCODED = re.compile(r"(?:ey[A-DI-L]|ew[o-r0-3]|LS0tLS1CRUdJTi)[A-Za-z0-9+/=\s_-]{20,}")


@dataclass(frozen=True, slots=True)
class SecretToSeal:
    """A secret of a submitted document: seal the value under the name that the document now refers to."""

    name: str
    pointer: str
    value: str = field(repr=False)


def is_secret_name(name: str) -> bool:
    """True if a field or variable with this name would hold a secret."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name)) is not None


def is_secret_value(text: str) -> bool:
    """True if the text contains a private key, an access key, a token or a password in a URL."""
    return _SECRET_VALUE.search(text) is not None or _ENCODED.fullmatch(text.strip()) is not None


def decode_service_account(text: str) -> str | None:
    """Return the JSON key of a service account from its Base64 form, or None if it is invalid."""
    try:
        key = base64.b64decode("".join(text.split()), validate=True).decode()
        content = json.loads(key)
    except (binascii.Error, ValueError, RecursionError):
        return None
    return key if isinstance(content, dict) else None
