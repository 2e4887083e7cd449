"""Downloads of large files from URLs that users supply: resumed, bounded, and only from checked addresses.

Each connection, also that of a redirect, goes to an address that was checked (see outgoing.py).
"""

from __future__ import annotations

import http.client
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from controlplane.errors import RemoteFailed
from controlplane.outgoing import (
    Network,
    Target,
    allowed_networks,
    check_target,
    host_header,
    pinned_connection,
)

_CHUNK = 256 * 1024
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
# Sent to the first host alone.
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True)
class DownloadTerms:
    """How to download. headers: with credentials; private_headers: names of others that are credentials.

    idle_seconds: without a byte. total_seconds: for all attempts. ca_bundle: PEM, beside the system's.
    networks: private ones that it may reach; None: OUTGOING_ALLOWED_NETWORKS.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    private_headers: frozenset[str] = frozenset()
    ca_bundle: str = ""
    idle_seconds: float = 10.0
    total_seconds: float = 300.0
    retries: int = 3
    max_bytes: int = 1 << 30
    networks: Sequence[Network] | None = None


class _Interrupted(Exception):
    """The transfer ended early, or the server asked for another attempt."""


def download(
    url: str, path: Path, terms: DownloadTerms, count: Callable[[int], None] = lambda _: None
) -> None:
    """Write the body of a GET to a file. count: is called with the number of bytes of each chunk.

    Raises InvalidRequest for an address that is not allowed, and RemoteFailed, neither with a header.
    """
    path.write_bytes(b"")
    transfer = _Transfer(path, terms, time.monotonic() + terms.total_seconds, count)
    for attempt in range(terms.retries + 1):
        try:
            transfer.attempt(url)
        except _Interrupted as error:
            if attempt == terms.retries or time.monotonic() >= transfer.until:
                host = urlsplit(url).hostname
                raise RemoteFailed(f"{host} did not send the whole file: {error}") from error
            # Jitter, so that many downloads do not come back at once.
            time.sleep(min(0.2 * 2**attempt, 5.0) * random.uniform(0.5, 1.0))  # noqa: S311
        else:
            return


@dataclass(slots=True)
class _Transfer:
    """One file, over several attempts. etag: strong, of what is in the file; without it, none is resumed."""

    path: Path
    terms: DownloadTerms
    until: float
    count: Callable[[int], None]
    etag: str = ""
    size: int = 0

    def attempt(self, url: str) -> None:
        """Download what is missing, through redirects. Raises _Interrupted, RemoteFailed."""
        terms = self.terms
        for _ in range(_MOST_REDIRECTS + 1):
            target = check_target(url, allowed_networks() if terms.networks is None else terms.networks)
            connection = pinned_connection(target, terms.idle_seconds, _tls(terms.ca_bundle))
            end = threading.Timer(max(self.until - time.monotonic(), 0), _end, [connection])
            end.start()
            try:
                location = self._request(connection, target, terms.headers)
            except (OSError, http.client.HTTPException) as error:
                raise _Interrupted(str(error) or type(error).__name__) from error
            finally:
                end.cancel()
                connection.close()
            if location is None:
                return
            url, terms = _redirected(url, location, terms)
        raise RemoteFailed(f"{target.host} redirects more than {_MOST_REDIRECTS} times.")

    def _request(
        self, connection: http.client.HTTPConnection, target: Target, headers: Mapping[str, str]
    ) -> str | None:
        """Return where the server redirects to, or None after the whole body was written."""
        headers = {**headers, "Host": host_header(target), "Accept-Encoding": "identity"}
        if self.etag and self.size:
            headers |= {"Range": f"bytes={self.size}-", "If-Range": self.etag}
        connection.request("GET", target.path, headers=headers)
        response = connection.getresponse()
        if response.status in _REDIRECTS and (location := response.getheader("Location")):
            return location
        self._begin(response, target)
        self._copy(response)
        return None

    def _begin(self, response: http.client.HTTPResponse, target: Target) -> None:
        """Decide whether the body continues the file or begins it again. Raises RemoteFailed."""
        if response.status == http.client.PARTIAL_CONTENT:
            match = _RANGE.fullmatch(response.getheader("Content-Range", ""))
            if match and int(match[1]) == self.size:
                return
            self.etag = ""
            raise _Interrupted("it sent another part than was asked for")
        if response.status in _TEMPORARY:
            raise _Interrupted(f"it responded with {response.status}")
        if response.status != http.client.OK:
            path = target.path.partition("?")[0][:200]
            message = f"{target.host} responded with {response.status} for {path}."
            raise RemoteFailed(message, status_there=response.status)
        self.path.write_bytes(b"")
        etag = response.getheader("ETag", "")
        self.etag, self.size = ("" if etag.startswith("W/") else etag), 0

    def _copy(self, response: http.client.HTTPResponse) -> None:
        expected, received = response.length, 0
        with self.path.open("ab") as file:
            while chunk := response.read1(_CHUNK):
                received += len(chunk)
                self.size += len(chunk)
                self._check_limits()
                file.write(chunk)
                self.count(len(chunk))
        self._check_limits()
        # http.client takes a connection that ends early for the end of the body.
        if expected is not None and received < expected:
            raise _Interrupted(f"the connection ended after {self.size:,} bytes")

    def _check_limits(self) -> None:
        if self.size > self.terms.max_bytes:
            raise RemoteFailed(f"The file has more than {self.terms.max_bytes:,} bytes.")
        if time.monotonic() > self.until:
            raise RemoteFailed(f"The file did not arrive within {self.terms.total_seconds:g} seconds.")


def _end(connection: http.client.HTTPConnection) -> None:
    """End a transfer whose time is over, also one whose headers come byte by byte."""
    if connection.sock is not None:
        with suppress(OSError):
            # Not that of TLS, which would first send something.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _redirected(url: str, location: str, terms: DownloadTerms) -> tuple[str, DownloadTerms]:
    """Return the next URL, without credentials for another host. Raises RemoteFailed."""
    following = urljoin(url, location)
    before, after = urlsplit(url), urlsplit(following)
    if before.scheme == "https" and after.scheme != "https":
        raise RemoteFailed(f"{before.hostname} redirects to an address without encryption.")
    if (before.scheme, before.netloc) == (after.scheme, after.netloc):
        return following, terms
    private = _CREDENTIALS | {name.lower() for name in terms.private_headers}
    kept = {name: value for name, value in terms.headers.items() if name.lower() not in private}
    return following, replace(terms, headers=kept)


@lru_cache(maxsize=64)
def _tls(ca_bundle: str) -> ssl.SSLContext:
    # Reading the system's certificates takes longer than a small download.
    context = ssl.create_default_context()
    if ca_bundle:
        context.load_verify_locations(cadata=ca_bundle)
    return context
