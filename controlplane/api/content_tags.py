"""ETags of objects that have no version: a digest of what was read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.etags import respond


def with_content_tag(request: Request, response: Any, path: Mapping[str, Any]) -> Any:
    """Return the response with an ETag, or 304 if the client has this content. Lists have none.

    path: the parameters of the address, without which it names no single object.
    """
    if request.method not in ("GET", "HEAD") or not path or not _is_object(response):
        return response
    content = msgspec.json.encode(response.data, enc_hook=str)
    digest = hashlib.sha256(content).hexdigest()[:20]
    tagged = respond(request, response.data, etag=f'"c{digest}"')
    if tagged.status_code == 304:
        response.status_code, response.data = 304, None
    for name in ("ETag", "Cache-Control"):
        response[name] = tagged[name]
    return response


def _is_object(response: Any) -> bool:
    return (
        isinstance(response, Response)
        and response.status_code == 200
        and not response.has_header("ETag")
        and isinstance(response.data, dict)
        and "items" not in response.data
    )
