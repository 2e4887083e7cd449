"""HTTP client: pages, retries, idempotency keys, ETags and problem documents.

It does not use the generated client, whose import takes 0.4 s and whose models depend on the server's
version.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from itertools import chain
from typing import Any
from urllib.parse import urlencode, urlsplit

from cpctl import VERSION
from cpctl.contexts import Context
from cpctl.errors import ApiError, Unreachable, UsageError
from cpctl.paths import JSON
from cpctl.portable.paging import every_page
from cpctl.portable.retries import pause, repeatable

_SECONDS = 10.0
_POSITION = "X-Controlplane-Position"
Query = Mapping[str, Any]
Trace = Callable[[str], None]


class Headers(dict[str, str]):
    """Case-insensitive headers, since proxies change the case."""

    def __init__(self, message: Message | None = None) -> None:
        super().__init__({name.lower(): value for name, value in message.items()} if message else {})

    def of(self, name: str) -> str:
        return self.get(name.lower(), "")


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Headers
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON. Raises Unreachable if the server is not a control plane."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            message = "The server did not respond with JSON, so it is not a control plane. Check its address."
            raise Unreachable(message, hint="cpctl config get-contexts") from error

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def problem_code(self) -> str:
        """Return the code of a problem document; empty if it is none."""
        try:
            return str(json.loads(self.body)["code"]) if self.status >= 400 else ""
        except (ValueError, TypeError, KeyError):
            return ""

    @property
    def etag(self) -> str:
        return self.headers.of("ETag")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Disables redirects, since urllib would send the token to their target."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


class Api:
    """A server with credentials. Every call raises ApiError or Unreachable."""

    def __init__(self, context: Context, *, trace: Trace = lambda line: None, tries: bool = True) -> None:
        if urlsplit(context.server).scheme not in ("http", "https"):
            raise UsageError(
                f"{context.server!r} is not a server URL. Use one such as https://controlplane.example.com."
            )
        self.context = context
        self._trace = trace
        self._tries = tries
        # Of the last change, so that a read after it is not served by a replica that lacks it.
        self._position = ""
        self._opener = urllib.request.build_opener(_NoRedirects)

    def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> Response:
        return self.send("GET", path, query=query, headers={"Accept": accept})

    def post(self, path: str, body: Any = None, *, query: Query | None = None, media: str = JSON) -> Response:
        """Send a POST that takes effect once, even if it is retried."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return self.send("POST", path, body, query=query, headers=headers, media=media)

    def items(self, path: str, query: Query | None = None, *, most: int | None = None) -> Iterator[Any]:
        """Yield all items of a list, page by page."""
        return chain.from_iterable(self.pages(path, query, most=most))

    def pages(
        self,
        path: str,
        query: Query | None = None,
        *,
        most: int | None = None,
        cursor: str = "cursor",
    ) -> Iterator[list[Any]]:
        """Yield the pages of a list, with `most` items in total.

        cursor: the parameter for the next page. The response has it with the prefix `next_`.
        """
        parameters = {"limit": 200 if most is None else min(most, 200), **(query or {})}

        def page(place: str) -> tuple[list[Any], str]:
            answer = self.get(path, {**parameters, cursor: place}).json()
            return answer["items"], str(answer.get(f"next_{cursor}") or "")

        left = most
        for items in every_page(page):
            page_items = list(items)[:left]
            yield page_items
            if left is not None and (left := left - len(page_items)) <= 0:
                return

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        media: str = JSON,
        timeout: float = _SECONDS,
    ) -> Response:
        """Send a request, with retries. body: text is sent unchanged, anything else as JSON."""
        request = self.request(method, path, body, query=query, headers=headers, media=media)
        again = repeatable(method, headers or {})
        tried = 0
        while True:
            tried += 1
            answer = self._send_once(request, timeout)
            after = answer.headers.of("Retry-After")
            wait = pause(
                tried,
                answer.status,
                again=again,
                retry_after=after,
                luck=random.random(),  # noqa: S311  (jitter)
                code=answer.problem_code,
            )
            if wait is None or not self._tries:
                return _checked(answer, self.context.server)
            self._trace(f"* retry in {wait:.1f} s")
            time.sleep(wait)

    def open(self, request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
        """Return an open response for streams. Raises urllib's errors."""
        opened: http.client.HTTPResponse = self._opener.open(request, timeout=timeout)
        return opened

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        media: str = JSON,
    ) -> urllib.request.Request:
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        all_headers = {"Accept": JSON, "User-Agent": f"cpctl/{VERSION}", **(headers or {})}
        if data is not None:
            all_headers["Content-Type"] = media
        if self._position:
            all_headers[_POSITION] = self._position
        if self.context.token:
            all_headers["Authorization"] = f"Bearer {self.context.token}"
        url = f"{self.context.server}/api/v1/{path}{_query(query or {})}"
        return urllib.request.Request(url, data, all_headers, method=method)  # noqa: S310  # checked above

    def _send_once(self, request: urllib.request.Request, timeout: float) -> Response:
        """Send a request once. Status 0 means no response, with the reason as body."""
        began = time.monotonic()
        try:
            with self.open(request, timeout) as response:
                answer = Response(response.status, Headers(response.headers), response.read())
        except urllib.error.HTTPError as error:
            with error:
                answer = Response(error.code, Headers(error.headers), error.read())
        except (OSError, http.client.HTTPException) as error:
            answer = Response(
                0, Headers(), str(getattr(error, "reason", error) or type(error).__name__).encode()
            )
        self._position = answer.headers.of(_POSITION) or self._position
        took = (time.monotonic() - began) * 1000
        detail = answer.headers.of("X-Request-ID") or (answer.text if not answer.status else "")
        self._trace(f"> {request.method} {request.full_url}\n< {answer.status} in {took:.0f} ms {detail}")
        return answer


def _query(query: Query) -> str:
    parameters = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None and value is not False and value not in ("", [])
    }
    return f"?{urlencode(parameters, doseq=True)}" if parameters else ""


def _checked(answer: Response, server: str) -> Response:
    if 200 <= answer.status < 300 or answer.status == 304:
        return answer
    if answer.status == 0:
        raise Unreachable(f"Cannot reach {server}: {answer.text}.", hint="cpctl doctor")
    try:
        problem = json.loads(answer.body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {
            "detail": (
                f"{server} responded with {answer.status}, but is not a control plane. Check its address."
            )
        }
    raise ApiError(answer.status, problem)
