"""The part of an archive that a request asks for (RFC 9110 section 14), and its digest (RFC 9530). Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{1,18})?")


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file. length: 0 if nothing of the range exists."""

    start: int
    length: int
    size: int
    is_part: bool = False


def requested_part(size: int, sha256: str, range_header: str, if_range: str) -> Part:
    """Return the part to send: all of it without a range, or if the client has begun with another file.

    Several ranges and those from the end get the whole file, as RFC 9110 allows; so do invalid ones.
    """
    match = _RANGE.fullmatch(range_header.strip())
    if match is None or _is_backwards(match) or (if_range and if_range.strip() != f'"{sha256}"'):
        return Part(0, size, size)
    start, end = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    return Part(start, max(0, end - start + 1), size, is_part=True)


def _is_backwards(match: re.Match[str]) -> bool:
    return match[2] is not None and int(match[2]) < int(match[1])


def answer_headers(part: Part, sha256: str) -> dict[str, str]:
    """Return the headers of an answer with this part."""
    digest = b64encode(bytes.fromhex(sha256)).decode()
    headers = {
        "ETag": f'"{sha256}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Repr-Digest": f"sha-256=:{digest}:",
    }
    if part.length:
        headers["Content-Length"] = str(part.length)
    if part.is_part:
        span = f"{part.start}-{part.start + part.length - 1}" if part.length else "*"
        headers["Content-Range"] = f"bytes {span}/{part.size}"
    return headers
