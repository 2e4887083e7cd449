"""YAML bodies, and errors that say line and column in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rest_framework.request import Request

from controlplane import yaml_text
from controlplane.api.json_body import StrictJSONParser, limit_of, read_body
from controlplane.errors import ControlplaneError, MalformedBody

MEDIA_TYPE = "application/yaml"


class YamlDocuments(list[Any]):
    """The documents of a YAML body, and the text that they were read from."""

    def __init__(self, text: str) -> None:
        super().__init__(yaml_text.load_all(text))
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
            places = yaml_text.positions(documents.text)
            error.errors = tuple(yaml_text.located(one, places) for one in error.errors)
        raise
