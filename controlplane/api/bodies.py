"""Request and response bodies: JSON and YAML parsers, the JSON renderer, and size limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.renderers import JSONRenderer as DRFJSONRenderer
from rest_framework.request import Request

from controlplane.errors import BodyTooLarge, ControlplaneError, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.formats.strict_json import parse_json


class StrictJSONParser(BaseParser):
    """Parse a JSON body, or raise BodyTooLarge or MalformedBody."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return parse_json(read_body(stream, limit_of(parser_context)), max_depth=settings.MAX_JSON_DEPTH)


class MergePatchParser(StrictJSONParser):
    """Parse a JSON Merge Patch (RFC 7396)."""

    media_type = "application/merge-patch+json"


class JsonPatchParser(StrictJSONParser):
    """Parse a JSON Patch (RFC 6902)."""

    media_type = "application/json-patch+json"


class JSONRenderer(DRFJSONRenderer):
    """Renders the same JSON as DRF with msgspec's encoder, since some responses have 30 MB."""

    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        try:
            return msgspec.json.encode(data, enc_hook=str)
        except OverflowError:  # an integer of more than 64 bits
            rendered: bytes = super().render(data, accepted_media_type, renderer_context)
            return rendered


class AlwaysJSON(BaseContentNegotiation):
    """Responds with JSON whatever Accept says, so that every client gets a readable error."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def declared_length(request: HttpRequest) -> int:
    """Return the Content-Length, or 0 without a valid one."""
    raw = request.META.get("CONTENT_LENGTH") or "0"
    return int(raw) if raw.isdecimal() else 0


def limit_of(parser_context: Mapping[str, Any] | None) -> int:
    """Return the view's maximum body size in bytes."""
    view = (parser_context or {}).get("view")
    return settings.MAX_BUNDLE_BYTES if getattr(view, "takes_bundles", False) else settings.MAX_BODY_BYTES


def read_body(stream: Any, limit: int) -> bytes:
    # One byte above the limit, to detect an oversized body without a length too.
    try:
        body: bytes = b"" if declared_length(stream) > limit else stream.read(limit + 1)
    except OSError as error:
        raise MalformedBody(
            "The body is shorter than its Content-Length, or its chunks are malformed. Send the"
            " request again."
        ) from error
    if len(body) > limit or declared_length(stream) > limit:
        raise BodyTooLarge(f"The body can have at most {limit} bytes. Split it into several requests.")
    return body


def read_text(stream: Any, limit: int) -> str:
    """Return the body as text. Raises BodyTooLarge, MalformedBody."""
    try:
        return read_body(stream, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBody(f"The body is not valid UTF-8: byte {error.start} cannot be decoded.") from error


MEDIA_TYPE = "application/yaml"


class YamlDocuments(list[Any]):
    """The documents of a YAML body, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(strict_yaml.load_all(text))
        self.text = text


class YamlParser(StrictJSONParser):
    """Parse YAML (RFC 9512) into a list of documents, even if there is only one."""

    media_type = MEDIA_TYPE

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return YamlDocuments(read_text(stream, limit_of(parser_context)))


class YmlParser(YamlParser):
    """Parse YAML under its media type from before RFC 9512."""

    media_type = "text/yaml"


def wants_yaml(request: Request, *, otherwise: bool = False) -> bool:
    """True if Accept names YAML before JSON; `otherwise` if it names neither."""
    accept = request.headers.get("Accept", "").lower()
    places = {kind: accept.find(kind) for kind in ("yaml", "json")}
    named = {kind: place for kind, place in places.items() if place >= 0}
    return min(named, key=named.__getitem__) == "yaml" if named else otherwise


@contextmanager
def located(request: Request) -> Iterator[None]:
    """Add line and column to errors in a YAML body, whose pointers begin with a document's index."""
    try:
        yield
    except ControlplaneError as error:
        documents = request.data
        if isinstance(documents, YamlDocuments):
            places = strict_yaml.positions(documents.text)
            error.errors = tuple(strict_yaml.located(field_error, places) for field_error in error.errors)
        raise
