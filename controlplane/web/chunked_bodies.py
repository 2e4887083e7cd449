"""Request bodies with chunks, or incomplete. Imported before Django's apps are loaded."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.conf import settings

from controlplane.web.incomplete_body import IncompleteBody, raise_incomplete

WSGIApplication = Callable[[dict[str, Any], Any], Any]


class ContentLengthMiddleware:
    """WSGI middleware that gives a chunked body the length that Django requires.

    Without one Django treats the body as empty, and a client's data would be lost silently. Reading an
    incomplete body raises OSError; our bridge marks it, granian's WSGI passes an empty one.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if isinstance(environ["wsgi.input"], IncompleteBody):
            # Without a length Django would not read it at all.
            environ["CONTENT_LENGTH"] = environ.get("CONTENT_LENGTH") or "1"
        elif "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            self._measure(environ)
        elif not isinstance(environ["wsgi.input"], BytesIO):
            environ["wsgi.input"] = _LengthCheckedInput(
                environ["wsgi.input"], environ.get("CONTENT_LENGTH") or "0"
            )
        return self.application(environ, start_response)

    def _measure(self, environ: dict[str, Any]) -> None:
        is_whole = isinstance(environ["wsgi.input"], BytesIO)
        # One byte more than allowed, so that the parser refuses it as too large.
        body = environ["wsgi.input"].read(settings.MAX_BUNDLE_BYTES + 1)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = BytesIO(body)
        if not body and not is_whole:
            environ["CONTENT_LENGTH"], environ["wsgi.input"] = "1", IncompleteBody()


class _LengthCheckedInput:
    """Input that must have the declared length."""

    def __init__(self, stream: Any, length: str) -> None:
        self._stream = stream
        self._left = int(length) if length.isdecimal() else 0

    def read(self, size: int = -1) -> bytes:
        length = self._left if size < 0 else min(size, self._left)
        return self._counted(self._stream.read(length) if length else b"", length)

    def readline(self, size: int = -1) -> bytes:
        length = self._left if size < 0 else min(size, self._left)
        return self._counted(self._stream.readline(length) if length else b"", min(length, 1))

    def _counted(self, data: bytes, least: int) -> bytes:
        self._left -= len(data)
        if len(data) < least:
            raise_incomplete()
        return data
