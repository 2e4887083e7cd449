"""ETags of objects that have no version: a digest of what was read, and what a change may name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from typing import Any

import msgspec
from django.db import connection
from django.http import QueryDict
from rest_framework.request import Request, clone_request
from rest_framework.response import Response

from controlplane.api.etags import respond, strong_tags
from controlplane.errors import VersionMismatch


def with_content_tag(request: Request, response: Any, path: Mapping[str, Any]) -> Any:
    """Return the response with an ETag, or 304 if the client has this content. Lists have none.

    path: the parameters of the address, without which it names no single object.
    """
    if request.method not in ("GET", "HEAD") or not path or not _is_object(response):
        return response
    tagged = respond(request, response.data, etag=_tag(response.data))
    if tagged.status_code == 304:
        response.status_code, response.data = 304, None
    for name in ("ETag", "Cache-Control"):
        response[name] = tagged[name]
    return response


def check_content(view: Any, request: Request, path: Mapping[str, Any]) -> None:
    """Raise VersionMismatch if a change names the content of an object that has none like that now.

    Changes that name it wait for one another, so that of two with one ETag, one is refused. Changes that name
    none do not wait. Objects with versions check them themselves.
    """
    if_match = request.headers.get("If-Match", "*").strip()
    if if_match == "*" or request.method == "POST" or view.has_versions or not hasattr(view, "get"):
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_number(request.path)])
    read = view.get(_plain_read(request), **path)
    current = read["ETag"] if read.has_header("ETag") else _tag(read.data)
    if current not in strong_tags(if_match):
        raise VersionMismatch(
            "The object has changed since you read it. Read it again, and repeat your change.",
            current=current.strip('"'),
        )


def _plain_read(request: Request) -> Request:
    """Return the request as a GET of the same address, without parameters."""
    read = clone_request(request, "GET")
    read._request = copy(request._request)
    read._request.GET = QueryDict()
    return read


def _tag(content: Any) -> str:
    digest = hashlib.sha256(msgspec.json.encode(content, enc_hook=str)).hexdigest()[:20]
    return f'"c{digest}"'


def _lock_number(path: str) -> int:
    return int.from_bytes(hashlib.sha256(f"content of {path}".encode()).digest()[:8], signed=True)


def _is_object(response: Any) -> bool:
    return (
        isinstance(response, Response)
        and response.status_code == 200
        and not response.has_header("ETag")
        and isinstance(response.data, dict)
        and "items" not in response.data
    )
