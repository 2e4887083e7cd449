"""Bodies that come in chunks. Imports nothing of ours: it is loaded before Django's apps are."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.conf import settings

WSGIApplication = Callable[[dict[str, Any], Any], Any]


class KnownLength:
    """Around the WSGI application: give a chunked body the length that Django wants.

    Without one Django takes the body for empty, and a client's data would be lost without a word.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            # One byte more than allowed, so that the parser sees that it is too much.
            body = environ["wsgi.input"].read(settings.MAX_BUNDLE_BYTES + 1)
            environ["CONTENT_LENGTH"] = str(len(body))
            environ["wsgi.input"] = BytesIO(body)
        return self.application(environ, start_response)
