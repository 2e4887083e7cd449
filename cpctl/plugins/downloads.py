"""Fetches archives over HTTP: resumed by ranges, compared with their digest.

Credentials go to their own server only.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from cpctl import VERSION
from cpctl.errors import ApiError, CpctlError, Failed, TimedOut, Unreachable
from cpctl.portable.retries import pause
from plugin_store.archive_damage import looks_like_a_page

_CHUNK_BYTES = 64 * 1024
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RANGE = re.compile(r"bytes (\d+)-")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to us: urllib would send the token to their target."""

    def redirect_request(self, *arguments: object, **named: object) -> None:
        return None


class _Again(Exception):
    """The attempt failed in a way that may pass. status 0: the connection failed."""

    def __init__(self, error: CpctlError, status: int = 0, retry_after: str = "") -> None:
        super().__init__(str(error))
        self.error, self.status, self.retry_after = error, status, retry_after


@dataclass(frozen=True, slots=True)
class Archive:
    """What to fetch: the digest and the size are those of the lock, which nobody may exceed."""

    name: str
    url: str
    sha256: str
    size: int


@dataclass(slots=True)
class Downloader:
    """Fetches archives. authorization: sent to the host of `server` alone; until: by the monotonic clock."""

    server: str = ""
    authorization: str = field(default="", repr=False)
    idle_seconds: float = 30.0
    until: float = float("inf")
    trace: Callable[[str], None] = lambda line: None
    add_bytes: Callable[[int], None] = lambda count: None
    stopped: threading.Event = field(default_factory=threading.Event)

    def fetch(self, archive: Archive, target: Path) -> None:
        """Write the archive to a file, after its digest was compared. Raises CpctlError.

        A part that an earlier run has left is continued.
        """
        part = target.with_name(f"{target.name}.part")
        was_resumed = _size(part) > 0
        self.add_bytes(min(_size(part), archive.size))
        self._complete(archive, part)
        if _sha256(part) != archive.sha256 and was_resumed:
            self._discard(part)
            self._complete(archive, part)
        if (digest := _sha256(part)) != archive.sha256:
            start = part.read_bytes()[:64]
            self._discard(part)
            raise _not_expected(archive, digest, start)
        part.replace(target)

    def read(self, url: str, *, most: int) -> bytes:
        """Return a small document, such as a lock. Raises CpctlError."""
        tried = 0
        while True:
            tried += 1
            try:
                with self._open(url, {}) as response:
                    content: bytes = response.read(most + 1)
                if len(content) > most:
                    raise Failed(f"{_shown(url)} has more than {most:,} bytes.")
                return content
            except _Again as failed:
                self._rest(failed, tried)

    def _complete(self, archive: Archive, part: Path) -> None:
        tried = 0
        while (before := _size(part)) != archive.size:
            tried += 1
            try:
                self._continue(archive, part)
            except _Again as failed:
                # After progress, the attempts are counted from 1.
                tried = 1 if _size(part) > before else tried
                self._rest(failed, tried)

    def _continue(self, archive: Archive, part: Path) -> None:
        """Ask for what is missing, and append it."""
        offset = _size(part)
        if offset > archive.size:
            self._discard(part)
            offset = 0
        ranges = {"Range": f"bytes={offset}-", "If-Range": f'"{archive.sha256}"'} if offset else {}
        with self._open(archive.url, ranges) as response:
            if offset and not _continues(response, offset):
                self._discard(part)
                offset = 0
            _check_answer(archive, response, offset)
            with part.open("ab") as file:
                for chunk in self._chunks(response):
                    if file.tell() + len(chunk) > archive.size:
                        raise _too_long(archive)
                    file.write(chunk)
                    self.add_bytes(len(chunk))
        if _size(part) < archive.size:
            raise _Again(Unreachable(f"The download of {archive.name} ended early."))

    def _chunks(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while True:
            if self.stopped.is_set() or time.monotonic() > self.until:
                raise _took_too_long()
            try:
                chunk = response.read1(_CHUNK_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise _Again(Unreachable(f"The connection broke: {_reason(error)}.")) from error
            if not chunk:
                return
            yield chunk

    @contextmanager
    def _open(self, url: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        """Open an answer with content, after redirects; credentials stay at their host."""
        origin = url
        for _ in range(_MOST_REDIRECTS):
            try:
                response = self._send(url, headers)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _REDIRECTS:
                        raise _refused(error, url) from error
                    url = _redirected(url, error.headers.get("Location", ""))
                continue
            except (OSError, http.client.HTTPException) as error:
                raise _Again(Unreachable(f"Cannot reach {_host(url)}: {_reason(error)}.")) from error
            with response:
                yield response
            return
        raise Failed(f"{_shown(origin)} redirects more than {_MOST_REDIRECTS} times.")

    def _send(self, url: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        own = {"User-Agent": f"cpctl/{VERSION}", "Accept": "*/*", **headers}
        if self.authorization and _host(url) == _host(self.server):
            own["Authorization"] = self.authorization
        if urlsplit(url).scheme not in ("http", "https"):
            raise Failed(f"{_shown(url)} is not an HTTP address.")
        request = urllib.request.Request(url, headers=own)  # noqa: S310  # checked above
        began = time.monotonic()
        seconds = max(0.1, min(self.idle_seconds, self.until - time.monotonic()))
        opener = urllib.request.build_opener(_NoRedirects)
        response: http.client.HTTPResponse = opener.open(request, timeout=seconds)
        took = (time.monotonic() - began) * 1000
        self.trace(f"> GET {_shown(url)} {headers.get('Range', '')}\n< {response.status} in {took:.0f} ms")
        return response

    def _rest(self, failed: _Again, tried: int) -> None:
        """Wait before another attempt, or raise the error."""
        luck = random.random()  # noqa: S311  (jitter)
        wait = pause(tried, failed.status, again=True, retry_after=failed.retry_after, luck=luck)
        if time.monotonic() + (wait or 0) > self.until:
            raise _took_too_long(f" {failed.error.message}") from failed
        if wait is None:
            raise failed.error from failed
        self.trace(f"* retry in {wait:.1f} s: {failed.error.message}")
        if self.stopped.wait(wait):
            raise failed.error from failed

    def _discard(self, part: Path) -> None:
        self.add_bytes(-_size(part))
        part.unlink(missing_ok=True)


def _took_too_long(why: str = "") -> TimedOut:
    return TimedOut(
        f"The downloads took too long.{why}", hint="run it again: it continues; or raise --timeout"
    )


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _continues(response: http.client.HTTPResponse, offset: int) -> bool:
    match = _RANGE.match(response.headers.get("Content-Range", ""))
    is_part = response.status == http.HTTPStatus.PARTIAL_CONTENT
    return is_part and match is not None and int(match[1]) == offset


def _check_answer(archive: Archive, response: http.client.HTTPResponse, offset: int) -> None:
    """Refuse at once what cannot be the archive, such as a login page with status 200."""
    if "html" in response.headers.get("Content-Type", ""):
        raise Failed(
            f"The server sent a web page instead of the archive of {archive.name}.",
            hint=f"open {_shown(archive.url)}: it is probably an error page or a login page",
        )
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and offset + int(length) != archive.size:
        raise Failed(
            f"The archive of {archive.name} has {offset + int(length):,} bytes, and the lock has"
            f" {archive.size:,}. Nothing was installed of it.",
            hint="cpctl plugins lock --check",
        )


def _too_long(archive: Archive) -> Failed:
    return Failed(f"The archive of {archive.name} has more than the {archive.size:,} bytes of the lock.")


def _not_expected(archive: Archive, digest: str, start: bytes) -> Failed:
    page = " It is a web page." if looks_like_a_page(start) else ""
    return Failed(
        f"The archive of {archive.name} is not the expected one: its sha256 is {digest}, and the lock has"
        f" {archive.sha256}.{page}",
        hint="check the server, or the mirror: somebody or something has changed this file",
    )


def _refused(error: urllib.error.HTTPError, url: str) -> Exception:
    """Return the error of an answer: one to try again, or that of its problem document."""
    try:
        problem = json.loads(error.read(_CHUNK_BYTES))
    except (ValueError, OSError):
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"{_shown(url)} answered with {error.code}."}
    answer = ApiError(error.code, problem)
    if error.code >= 500 or error.code in (408, 429):
        # 408 and 500 may pass like a 502.
        status = error.code if error.code in (429, 502, 503, 504) else 502
        return _Again(answer, status, error.headers.get("Retry-After", ""))
    return answer


def _redirected(url: str, location: str) -> str:
    target = urljoin(url, location)
    if not location or (urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https"):
        raise Failed(f"{_shown(url)} redirects to an address without TLS, or to none.")
    return target


def _host(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _shown(url: str) -> str:
    """Return an address without user info and query, which may be credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error) or type(error).__name__)
