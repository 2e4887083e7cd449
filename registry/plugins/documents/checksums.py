"""Checksums of artifacts: `sha256:<hexadecimal>`, or the SRI form `sha256-<Base64>`. Pure."""

from __future__ import annotations

import base64
import binascii
import re

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text

_DIGEST_BYTES = {"sha256": 32, "sha384": 48, "sha512": 64}
_FORM = re.compile(r"(sha256|sha384|sha512)([:-])(.+)")


def normalise_checksum(text: str) -> str | None:
    """Return the checksum as `<algorithm>:<hexadecimal>`, or None if it is invalid."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    algorithm, separator, encoded = match.groups()
    try:
        value = bytes.fromhex(encoded) if separator == ":" else base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        return None
    return f"{algorithm}:{value.hex()}" if len(value) == _DIGEST_BYTES[algorithm] else None


def read_checksum(node: Node, findings: Findings) -> str | None:
    """Read a checksum in either form."""
    text = read_text(node, findings)
    if text is None:
        return None
    checksum = normalise_checksum(text)
    if checksum is None:
        message = "Invalid checksum: use sha256:<64 hexadecimal digits>, or sha256-<Base64>."
        findings.error(node.pointer, Code.INVALID_VALUE, message, "sha384 and sha512 are accepted too.")
    return checksum
