"""`Retry-After` header for errors that are temporary."""

from __future__ import annotations

from rest_framework.response import Response

from controlplane.errors import DuplicateInstance


def with_retry_after(response: Response, error: Exception) -> Response:
    if isinstance(error, DuplicateInstance):
        response["Retry-After"] = str(error.members["retry_after"])
    return response
