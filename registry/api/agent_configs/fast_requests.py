"""Configuration polls that are plain enough for the fast path. All other requests are left to Django."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controlplane.web.fast_requests import RawHead, RequestHead, RequestHeads
from registry.agent_configs.delivery.data_planes import Format

_PATH = re.compile(r"/api/v1/data-planes/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)/config")
_FORMATS = {b"": Format.YAML, b"wait=0": Format.YAML}
_FORMATS |= {f"format={value}".encode(): value for value in Format}
_FORMATS |= {query + b"&wait=0": value for query, value in _FORMATS.items() if b"format" in query}


@dataclass(slots=True)
class PollHead(RequestHead):
    """The head of a plain poll. It has the ETag of the client's copy."""

    data_plane: str = ""
    format: Format = Format.YAML


class PollHeads(RequestHeads):
    """Reader of heads. A request without an ETag, and one that may wait, is no plain poll."""

    def __init__(self) -> None:
        super().__init__("GET", has_body=False)

    def read(self, raw: RawHead) -> PollHead | None:
        path, config_format = _PATH.fullmatch(raw.path), _FORMATS.get(raw.query)
        if path is None or config_format is None:
            return None
        head = super().read(raw)
        if head is None or head.etag is None:
            return None
        return PollHead(
            head.path,
            head.query,
            head.secret,
            head.token_digest,
            head.is_secure,
            head.request_id,
            head.etag,
            data_plane=path[1],
            format=config_format,
        )
