"""The keys that encrypt stored secrets, and the format of their file. Pure.

Each line is `<key id>:<base64 of 32 bytes>`. The first key encrypts; all keys decrypt.
"""

from __future__ import annotations

import binascii
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass

KEY_BYTES = 32
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class InvalidKeyFile(ValueError):
    """The key file cannot be used. The message never contains a key."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys by key id. newest: the id of the key that encrypts."""

    newest: str
    keys: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"KeyRing(newest={self.newest!r}, {len(self.keys)} keys)"


def parse_key_file(text: str) -> KeyRing:
    """Return the keys in the file. Raises InvalidKeyFile."""
    keys: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if content and not content.startswith("#"):
            key_id, key = _parse_line(content, number)
            if key_id in keys:
                raise InvalidKeyFile(f"Line {number} repeats the key id {key_id!r}. Key ids must be unique.")
            keys[key_id] = key
    if not keys:
        raise InvalidKeyFile("The file contains no key. Add a line `<key id>:<base64 of 32 bytes>`.")
    return KeyRing(next(iter(keys)), keys)


def new_key_line(key_id: str) -> str:
    """Return a line of the key file with a new random key."""
    return f"{key_id}:{b64encode(secrets.token_bytes(KEY_BYTES)).decode()}\n"


def _parse_line(line: str, number: int) -> tuple[str, bytes]:
    key_id, separator, encoded = line.partition(":")
    if not separator or not _KEY_ID.fullmatch(key_id):
        raise InvalidKeyFile(
            f"Line {number} is not `<key id>:<base64 of 32 bytes>`. A key id has 1 to 32 letters, digits,"
            " _ or -."
        )
    try:
        key = b64decode(encoded.strip(), validate=True)
    except binascii.Error as error:
        raise InvalidKeyFile(f"The key {key_id!r} in line {number} is not valid base64.") from error
    if len(key) != KEY_BYTES:
        raise InvalidKeyFile(
            f"The key {key_id!r} in line {number} has {len(key)} bytes instead of {KEY_BYTES}."
        )
    return key_id, key
