"""The middlewares of browsers: sessions, users and messages. Reads with a token need none of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_API = "/api/"
_READS = ("GET", "HEAD")


class BrowserMiddlewares:
    """Runs BROWSER_MIDDLEWARES as Django would, but for reads of the API with a token and without cookies.

    None of them has a `process_view`. Such a read gets an empty session and an anonymous user too.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._views = self._browser = get_response
        for name in reversed(settings.BROWSER_MIDDLEWARES):
            middleware = import_string(name)(self._browser)
            self._browser = cast(GetResponse, convert_exception_to_response(middleware))
        self._session = import_module(settings.SESSION_ENGINE).SessionStore

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_read_with_token(request):
            return self._browser(request)
        request.session = self._session()
        request.user = AnonymousUser()
        return self._views(request)


def is_read_with_token(request: HttpRequest) -> bool:
    """True for a read of the API by a client that authenticates itself and is no browser."""
    meta = request.META
    return (
        "HTTP_AUTHORIZATION" in meta
        and not meta.get("HTTP_COOKIE")
        and request.method in _READS
        and request.path.startswith(_API)
    )
