"""Which requests are plain enough for the fast path. Whatever is unusual is left to Django."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.http.request import split_domain_port, validate_host

from controlplane.errors import InvalidScope
from controlplane.scopes import SEGMENTS, Scope
from overrides.api.effective.fast_path.snapshot import Key, rung_of

_PARAMETERS = {*SEGMENTS, "resource_type"}
_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ONE_STRONG_TAG = re.compile(rb'"[\x21\x23-\x7e]*"')
_LONGEST_QUERY = 4096
# They change the answer, or its headers, or mean that there is more to read.
_UNUSUAL = frozenset(
    {b"cookie", b"origin", b"content-length", b"transfer-encoding", b"expect", b"x-forwarded-host"}
)
_SCHEME = b"Bearer "


@dataclass(frozen=True, slots=True)
class Question:
    scope: Scope
    resource_type: str
    key: Key


@dataclass(slots=True)  # not frozen: that costs a microsecond
class PlainRequest:
    """held: the ETag that the client has, if it says so. digest: of the secret."""

    question: Question
    secret: bytes
    digest: bytes
    secure: bool
    held: bytes | None
    request_id: str | None


class PlainRequests:
    """Reads requests by the settings of the process. Those are asked once: here it would show."""

    def __init__(self) -> None:
        self.tls_only = settings.SECURE_SSL_REDIRECT
        name, self._tls_word = settings.SECURE_PROXY_SSL_HEADER or ("", "")
        self._tls_header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()

    def read(self, scope: Mapping[str, Any]) -> PlainRequest | None:
        """Return the request, or None if it is not a plain one."""
        if scope["method"] not in ("GET", "HEAD") or scope.get("root_path"):
            return None
        sent = scope["headers"]
        headers = dict(sent)
        # A header that is sent twice is joined for Django.
        if len(headers) < len(sent) or not _UNUSUAL.isdisjoint(headers):
            return None
        authorization = headers.get(b"authorization", b"")
        held = headers.get(b"if-none-match")
        secure = self.is_secure(scope["scheme"], headers)
        if (
            not authorization.startswith(_SCHEME)
            or (held is not None and not _ONE_STRONG_TAG.fullmatch(held))
            or (self.tls_only and not secure)
            or not is_our_host(headers.get(b"host", b""))
            or (question := question_of(scope["query_string"])) is None
        ):
            return None
        request_id = headers.get(b"x-request-id")
        said = None if request_id is None else request_id.decode("latin-1")
        secret = authorization[len(_SCHEME) :]
        return PlainRequest(question, secret, sha256(secret).digest(), secure, held, said)

    def is_secure(self, scheme: str, headers: Mapping[bytes, bytes]) -> bool:
        """As HttpRequest.scheme: a trusted proxy may say that it has ended TLS."""
        if self._tls_header and (said := headers.get(self._tls_header)) is not None:
            return said.decode("latin-1").partition(",")[0].strip() == self._tls_word
        return scheme == "https"


@lru_cache(maxsize=8192)
def question_of(query: bytes) -> Question | None:
    """What the query string asks; None if it is wrong or unusual in any way."""
    if len(query) > _LONGEST_QUERY or not query.isascii() or query.count(b"&") >= len(_PARAMETERS):
        return None
    said = dict(QueryDict(query).lists())
    if not _PARAMETERS.issuperset(said) or any(len(values) > 1 for values in said.values()):
        return None
    texts = {name: str(values[0]) for name, values in said.items()}
    if any("\ufffd" in text or not text.isprintable() for text in texts.values()):
        return None
    resource_type = texts.pop("resource_type", None)
    if resource_type is not None and not _TYPE_NAME.fullmatch(resource_type):
        return None
    try:
        scope = Scope(**texts)
    except InvalidScope:
        return None
    return Question(scope, resource_type or "", (*rung_of(scope), resource_type or ""))


@lru_cache(maxsize=256)
def is_our_host(host: bytes) -> bool:
    if not host.isascii():
        return False
    domain, _ = split_domain_port(host.decode("ascii"))
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
