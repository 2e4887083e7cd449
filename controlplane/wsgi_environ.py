"""From ASGI's words to WSGI's: the environ of a request, as granian's own WSGI interface makes it."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from controlplane.incomplete_body import IncompleteBody

RAW_PATH = "controlplane.raw_path"
_WITHOUT_PREFIX = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


def environ_of(scope: dict[str, Any], body: bytes | None) -> dict[str, Any]:
    """Texts are bytes read as Latin-1, as PEP 3333 wants; Django decodes them once more.

    body: None if it did not arrive whole.
    """
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope.get("root_path", ""),
        # Of the raw path: what is no UTF-8 is lost in the decoded one.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        # The same without Django's repair of bytes that are no UTF-8.
        RAW_PATH: unquote_to_bytes(scope["raw_path"]),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": scope["client"][0] if scope.get("client") else "",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_SOFTWARE": "Granian",
        "wsgi.errors": sys.stderr,
        "wsgi.input": IncompleteBody() if body is None else BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.multiprocess": False,
        "wsgi.multithread": True,
        "wsgi.run_once": False,
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.version": (1, 0),
        **_headers(scope["headers"]),
        # What our own ASGI code tells Django; no client can set it.
        **scope.get("environ", {}),
    }


def _headers(sent: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in sent:
        # X_Forwarded_Proto would be taken for X-Forwarded-Proto, which the proxy in front has checked.
        if b"_" in name:
            continue
        key = _WITHOUT_PREFIX.get(name) or "HTTP_" + name.decode("ascii").upper().replace("-", "_")
        text = value.decode("ascii") if value.isascii() else ""
        if key in found:
            text = f"{found[key]}{';' if key == 'HTTP_COOKIE' else ','}{text}"
        found[key] = text
    return found
