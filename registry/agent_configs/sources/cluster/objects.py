"""Read documents from ConfigMaps, and changes from a watch. Pure.

A document's team is the namespace that the API server reports; text, labels and annotations cannot
change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from registry.agent_configs.documents.envelopes import PREFIX
from registry.agent_configs.documents.published import DocumentId

SOURCE = "kubernetes"
# etcd stores up to 1.5 MiB; managed fields are added.
_LONGEST_LINE = 8 << 20
_CONTENT_FIELDS = ("data", "binaryData", "immutable")
_GONE = 410


class VersionExpired(Exception):
    """The API server no longer has the changes since our version; list again."""


class MalformedResponse(Exception):
    """A response that cannot be parsed. Its changes are lost; list again."""


class Kind(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """The relevant content of a ConfigMap. text: the document, without bookkeeping metadata."""

    namespace: str
    name: str
    uid: str
    created_at: datetime
    text: str

    @property
    def document(self) -> DocumentId:
        return DocumentId(SOURCE, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a watch. config_map: None for bookmarks and for names without the prefix."""

    kind: Kind
    version: str
    config_map: ConfigMap | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. more: the token of the next page, empty on the last."""

    config_maps: tuple[ConfigMap, ...]
    version: str
    more: str


def read_page(value: Any) -> Page:
    """Read a page. Raises MalformedResponse unless it is a list of ConfigMaps with a version."""
    metadata = _require_member(value, "metadata")
    items = value.get("items")
    version = metadata.get("resourceVersion")
    # A server writes null for no items.
    if not isinstance(items, list | None) or not isinstance(version, str) or not version:
        raise MalformedResponse("The response is not a list of ConfigMaps.")
    more = metadata.get("continue") or ""
    config_maps = (read_config_map(item) for item in items or ())
    return Page(tuple(config_map for config_map in config_maps if config_map), version, str(more))


def read_config_map(value: Any) -> ConfigMap | None:
    """Read a ConfigMap, or return None if its name lacks the prefix. Raises MalformedResponse."""
    metadata = _require_member(value, "metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not isinstance(namespace, str) or not (name and namespace):
        raise MalformedResponse("A ConfigMap without name or namespace.")
    if not name.startswith(PREFIX):
        return None
    uid = str(metadata.get("uid") or "")
    return ConfigMap(
        namespace, name, uid, _parse_time(metadata.get("creationTimestamp")), _build_text(name, value)
    )


def read_changes(chunks: Iterable[bytes]) -> Iterator[Change]:
    """Yield the changes in a stream of lines, without an incomplete last line.

    Raises VersionExpired, MalformedResponse.
    """
    for line in _split_lines(chunks):
        if line.strip():
            yield _parse_change(line)


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE:
            raise MalformedResponse("A line of the watch is too long.")


def _parse_change(line: bytes) -> Change:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise MalformedResponse("A line of the watch is not valid JSON.") from error
    value = _require_member(event, "object")
    if event.get("type") == "ERROR":
        raise _parse_error(value)
    try:
        kind = Kind(event.get("type"))
    except ValueError as error:
        raise MalformedResponse("A line of the watch has an unknown type.") from error
    version = _require_member(value, "metadata").get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise MalformedResponse("A line of the watch has no version.")
    return Change(kind, version, None if kind is Kind.BOOKMARK else read_config_map(value))


def _parse_error(status: Mapping[str, Any]) -> Exception:
    message = str(status.get("message") or status.get("reason") or "no reason given")[:300]
    is_gone = status.get("code") == _GONE or status.get("reason") in ("Expired", "Gone")
    return (
        VersionExpired(message) if is_gone else MalformedResponse(f"The watch ended with an error: {message}")
    )


def _require_member(value: Any, name: str) -> Mapping[str, Any]:
    member = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(member, Mapping):
        raise MalformedResponse(f"An object has no {name}.")
    return member


def _parse_time(text: Any) -> datetime:
    try:
        timestamp = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return datetime.now(UTC)
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)


def _build_text(name: str, value: Mapping[str, Any]) -> str:
    """Build equal text for equal data. Items of a list have neither kind nor apiVersion."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    body |= {field: value[field] for field in _CONTENT_FIELDS if value.get(field) is not None}
    text = json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False)
    # A lone surrogate cannot be stored.
    return text.encode(errors="replace").decode()
