"""ETags and conditional headers. Only strong tags: weak tags never match If-Match."""

from __future__ import annotations

import re

from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.dry_runs import is_dry_run
from controlplane.errors import FieldError, InvalidRequest
from controlplane.preconditions import Precondition

_LIST = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e]*"\s*(?:,\s*(?:W/)?"[\x21\x23-\x7e]*"\s*)*')
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
_VERSION = re.compile(r"v(0|[1-9][0-9]{0,18})")


def version_etag(version: int) -> str:
    return f'"v{version}"'


def parse_precondition(request: Request) -> Precondition:
    """Parse If-Match and If-None-Match; a dry run may omit both. Raises InvalidRequest for malformed ones."""
    must_be_new = _must_be_new(request.headers.get("If-None-Match"))
    if_match = request.headers.get("If-Match")
    if if_match is None:
        return Precondition(must_be_new=must_be_new, may_omit_version=is_dry_run(request))
    if must_be_new:
        raise _malformed("If-Match", "If-Match and If-None-Match cannot be combined. Send only one of them.")
    if if_match.strip() == "*":
        return Precondition(any_version=True)
    return Precondition(versions=frozenset(_versions(if_match)))


def respond(request: Request, data: object, *, etag: str) -> Response:
    """Return the response of a read: 304 if the client has the current version."""
    if_none_match = request.headers.get("If-None-Match", "")
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if if_none_match.strip() == "*" or etag in (f'"{tag}"' for _, tag in _TAG.findall(if_none_match)):
        return Response(status=304, headers=headers)
    return Response(data, headers=headers)


def _must_be_new(header: str | None) -> bool:
    if header is None:
        return False
    if header.strip() != "*":
        raise _malformed(
            "If-None-Match",
            "Writes support only `If-None-Match: *`, which creates and never replaces.",
        )
    return True


def strong_tags(header: str) -> list[str]:
    """Return the tags of If-Match, with quotes. Raises InvalidRequest for malformed ones."""
    if not _LIST.fullmatch(header):
        raise _malformed(
            "If-Match",
            'If-Match is not a list of ETags. Send the ETag from your last read, including quotes: "v7".',
        )
    return [f'"{tag}"' for weak, tag in _TAG.findall(header) if not weak]


def _versions(header: str) -> list[int]:
    # Any other tag is well-formed and does not match (RFC 9110 13.1.1).
    versions = (_VERSION.fullmatch(tag.strip('"')) for tag in strong_tags(header))
    return [int(version[1]) for version in versions if version]


def _malformed(header: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(f"header:{header}", "malformed", message)])
