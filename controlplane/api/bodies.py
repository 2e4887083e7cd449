"""JSON in and out. What we accept is stricter than `json.loads`: reliability.md 3.5 has the limits."""

from __future__ import annotations

import json
import math
import re
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

from controlplane.errors import BodyTooLarge, ControlplaneError, FieldError, MalformedBody
from controlplane.formats import strict_yaml

# Strings are skipped as a whole. The closing quote is optional, or each quote of a hostile body would
# be scanned to the end again: an unclosed string takes all the rest, and the parser complains.
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]},]', re.DOTALL)
# Of one body, names apart: what is done with a value costs more than reading it.
MAX_VALUES = 500_000

_UNSURE: Any = object()


class StrictJSONParser(BaseParser):
    """Parse a JSON body, or raise BodyTooLarge or MalformedBody."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return parse_json(read_body(stream, limit_of(parser_context)))


class MergePatchParser(StrictJSONParser):
    """RFC 7396, by its own media type."""

    media_type = "application/merge-patch+json"


class JsonPatchParser(StrictJSONParser):
    """RFC 6902, by its own media type."""

    media_type = "application/json-patch+json"


class JSONRenderer(DRFJSONRenderer):
    """The same JSON as DRF's, by msgspec's encoder: some answers have thirty megabytes."""

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
    """Answer JSON whatever Accept says: an error that cannot be read helps nobody."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        sent = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == sent), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def declared_length(request: HttpRequest) -> int:
    """The body's length in bytes as the client says it; 0 where it does not."""
    raw = request.META.get("CONTENT_LENGTH") or "0"
    return int(raw) if raw.isdecimal() else 0


def limit_of(parser_context: Mapping[str, Any] | None) -> int:
    """How large a body the view takes, in bytes."""
    view = (parser_context or {}).get("view")
    return settings.MAX_BUNDLE_BYTES if getattr(view, "takes_bundles", False) else settings.MAX_BODY_BYTES


def read_body(stream: Any, limit: int) -> bytes:
    # One byte more than allowed: a body without a length is caught as well.
    try:
        body: bytes = b"" if declared_length(stream) > limit else stream.read(limit + 1)
    except OSError as error:
        raise MalformedBody(
            "The body ended before its announced length, or its chunks are malformed. Send the request again."
        ) from error
    if len(body) > limit or declared_length(stream) > limit:
        raise BodyTooLarge(f"A body may have {limit} bytes at most. Split it into several requests.")
    return body


def parse_json(body: bytes) -> Any:
    """Return the document. Raises MalformedBody."""
    document = _plain(body)
    return parse_exactly(body) if document is _UNSURE else document


def _plain(body: bytes) -> Any:
    """The document, if nothing about it is special; else _UNSURE. Its yes is sure, and quick."""
    # Only an escape can make a NUL or half of a surrogate pair.
    if b"\\u" in body or (len(body) > MAX_VALUES and sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES):
        return _UNSURE
    try:
        document = msgspec.json.decode(body)
        # Written again it is the same text, so no name stood twice and no number lost a digit.
        same = msgspec.json.encode(document) == msgspec.json.format(body, indent=-1)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        return _UNSURE
    return document if same and _depth(document) <= settings.MAX_JSON_DEPTH else _UNSURE


def _depth(document: Any) -> int:
    depth, level = 0, [document]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [below for one in level for below in (one.values() if isinstance(one, dict) else one)]
    return depth


def parse_exactly(body: bytes) -> Any:
    """The same, looking at everything."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBody(f"The body is not UTF-8: byte {error.start} cannot be decoded.") from error
    _check_structure(body)
    try:
        document = json.loads(
            body, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise MalformedBody(
            f"The body is not JSON: {error.msg} at {where}.",
            errors=[FieldError("", "malformed", error.msg, hint=where)],
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise MalformedBody("The body has a number that is too long.") from error
    _check_strings(document, "")
    return document


def _check_structure(body: bytes) -> None:
    """Refuse too many levels or values before anything is built."""
    depth, values = 0, 1
    for match in _STRUCTURE.finditer(body):
        token = match[0]
        if token in (b"[", b"{"):
            depth += 1
            values += 1
            if depth > settings.MAX_JSON_DEPTH:
                raise MalformedBody(f"The body is nested deeper than {settings.MAX_JSON_DEPTH} levels.")
        elif token in (b"]", b"}"):
            depth -= 1
        elif token == b",":
            values += 1
        if values > MAX_VALUES:
            raise MalformedBody(
                f"The body has more than {MAX_VALUES} values. Split it into several requests."
            )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        name = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MalformedBody(
            f"The name {name!r} stands twice in one object.",
            errors=[FieldError("", "duplicate_name", f"The name {name!r} stands twice in one object.")],
        )
    return document


def _refuse_constant(word: str) -> Any:
    raise MalformedBody(f"{word} is not JSON: numbers must be finite.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedBody(f"The number {text[:40]} is too large.")
    return number


def _check_strings(value: Any, pointer: str) -> None:
    """Refuse what Postgres cannot store: NUL (jsonb) and lone surrogates (UTF-8)."""
    if isinstance(value, str):
        _check_string(value, pointer)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_string(name, pointer)
            _check_strings(member, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _check_strings(member, f"{pointer}/{index}")


def _check_string(text: str, pointer: str) -> None:
    if text.isascii() and "\x00" not in text:
        return
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise MalformedBody(
            "A text has a NUL character or half of a surrogate pair, which cannot be stored.",
            errors=[FieldError(pointer, "unstorable_text", "NUL or a lone surrogate.")],
        )


MEDIA_TYPE = "application/yaml"


class YamlDocuments(list[Any]):
    """The documents of a YAML body, and the text that they were read from."""

    def __init__(self, text: str) -> None:
        super().__init__(strict_yaml.load_all(text))
        self.text = text


class YamlParser(StrictJSONParser):
    """RFC 9512. The body is a list of documents, even if there is one."""

    media_type = MEDIA_TYPE

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = read_body(stream, limit_of(parser_context))
        try:
            return YamlDocuments(body.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise MalformedBody(f"The body is not UTF-8: byte {error.start} cannot be decoded.") from error


class YmlParser(YamlParser):
    """What YAML was called before it had a media type."""

    media_type = "text/yaml"


def wants_yaml(request: Request, *, otherwise: bool = False) -> bool:
    """True if Accept names YAML before JSON; `otherwise` where it names neither."""
    accept = request.headers.get("Accept", "").lower()
    places = {kind: accept.find(kind) for kind in ("yaml", "json")}
    named = {kind: place for kind, place in places.items() if place >= 0}
    return min(named, key=named.__getitem__) == "yaml" if named else otherwise


@contextmanager
def located(request: Request) -> Iterator[None]:
    """Add line and column to errors about a YAML body, whose pointers begin with a document's number."""
    try:
        yield
    except ControlplaneError as error:
        documents = request.data
        if isinstance(documents, YamlDocuments):
            places = strict_yaml.positions(documents.text)
            error.errors = tuple(strict_yaml.located(one, places) for one in error.errors)
        raise
