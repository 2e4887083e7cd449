"""Send reports to the control plane by HTTPS, with a token that is read from its file each time."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

_SECONDS = 30.0
_MAX_BYTES = 32 << 20
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ReportFailed(Exception):
    """A report was not taken. status: the HTTP status; 0 without a response. retry_after: seconds."""

    def __init__(self, reason: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = retry_after


class ReportClient:
    """Reports for one cluster. url: of the control plane. ca_file: of its authority; empty: the system's.

    Raises ValueError if the token would leave this machine without TLS.
    """

    def __init__(self, url: str, cluster: str, token_file: Path, *, ca_file: str = "") -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._path = f"{parts.path.rstrip('/')}/api/v1/agent-config-clusters/{quote(cluster, safe='')}:report"
        self._token_file = token_file
        if parts.scheme == "https":
            self._tls: ssl.SSLContext | None = ssl.create_default_context(cafile=ca_file or None)
        elif parts.scheme == "http" and self._host in _LOOPBACK:
            self._tls = None
        else:
            raise ValueError("The URL must begin with https://, because the token is sent there.")

    def report(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response. Raises ReportFailed. Redirects are not followed: they could take the token."""
        raw = json.dumps(body, ensure_ascii=False).encode()
        connection = self._connect()
        try:
            connection.request("POST", self._path, body=raw, headers=self._headers())
            return _read(connection.getresponse())
        except (OSError, HTTPException) as error:
            raise ReportFailed(
                f"the control plane cannot be reached: {type(error).__name__}: {str(error)[:200]}"
            ) from error
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        if self._tls is None:
            return HTTPConnection(self._host, self._port, timeout=_SECONDS)
        return HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=self._tls)

    def _headers(self) -> dict[str, str]:
        # Each time: the token may have been rotated.
        try:
            token = self._token_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise ReportFailed(f"the token cannot be read: {type(error).__name__}.") from error
        if not token.isprintable() or not token:
            raise ReportFailed("the token's file is empty or malformed.")
        return {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }


def _read(response: HTTPResponse) -> dict[str, Any]:
    raw = response.read(_MAX_BYTES + 1)
    try:
        value = json.loads(raw)
    except ValueError:
        value = None
    if response.status == 200 and isinstance(value, dict) and len(raw) <= _MAX_BYTES:
        return value
    detail = value.get("detail") if isinstance(value, dict) else None
    retry_after = response.headers.get("Retry-After", "")
    raise ReportFailed(
        f"the control plane responded with {response.status}: {str(detail or response.reason)[:300]}",
        status=response.status,
        retry_after=float(retry_after) if retry_after.isdecimal() else 0.0,
    )
