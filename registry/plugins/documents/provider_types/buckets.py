"""Names of buckets in object stores. Pure."""

from __future__ import annotations

import re

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def read_bucket(node: Node, findings: Findings) -> str | None:
    """Read the name of a bucket, without a scheme and without a path."""
    text = read_text(node, findings)
    if text is None or (_BUCKET.fullmatch(text) and ".." not in text):
        return text
    message = "Invalid name of a bucket: 3 to 222 lower-case letters, digits, '.', '_' and '-'."
    findings.error(
        node.pointer, Code.INVALID_VALUE, message, "Write gs:// or s3:// nowhere; use prefix for folders."
    )
    return None
