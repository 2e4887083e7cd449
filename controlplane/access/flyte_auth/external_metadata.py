"""Metadata of the external authorization server, which clients get from us unchanged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from django.conf import settings

from controlplane.access.issuers.documents import DocumentCache, Location, read_json
from controlplane.errors import ControlplaneError

_REQUIRED = ("issuer", "token_endpoint")


def external_metadata() -> dict[str, Any]:
    """Return the server's whole document. Raises IssuerUnavailable if none was read within a day."""
    url = urljoin(f"{external_server().rstrip('/')}/", settings.EXTERNAL_AUTH_SERVER_METADATA)
    # The operator configured this host.
    document: Mapping[str, Any] = DOCUMENTS.get(Location(url, any_address=True), _checked)
    return dict(document)


def external_server() -> str:
    """Return the base URL of the server that clients must use; empty if none is configured."""
    return str(settings.EXTERNAL_AUTH_SERVER or next(iter(settings.EXTERNAL_ISSUERS), ""))


def _read_with_retries(location: Location) -> Any:
    for _ in range(settings.EXTERNAL_AUTH_SERVER_RETRIES):
        try:
            return read_json(location)
        except (ControlplaneError, ValueError):
            time.sleep(settings.EXTERNAL_AUTH_SERVER_RETRY_SECONDS)
    return read_json(location)


def _checked(document: Any) -> Mapping[str, Any]:
    """Return a document with which a client can log in. Raises ValueError."""
    if not isinstance(document, Mapping):
        raise ValueError("the document is not an object")
    for name in _REQUIRED:
        if not isinstance(document.get(name), str):
            raise ValueError(f"the document has no `{name}`")
    return document


DOCUMENTS = DocumentCache(read=_read_with_retries)
