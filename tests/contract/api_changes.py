"""What changed between two descriptions of the API so that a client of the first may fail. Pure.

`make release-api` runs it as a program: openapi.yaml is the released one then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.paths import ROOT

RELEASED = ROOT / "changes" / "released-openapi.yaml"
METHODS = ("get", "post", "put", "patch", "delete")
_WORDS = ("description", "summary", "example", "examples", "tags", "externalDocs")
# A limit, and which way makes it tighter.
_LIMITS = {"maxLength": -1, "maxItems": -1, "maximum": -1, "minLength": 1, "minItems": 1, "minimum": 1}
Schema = Mapping[str, Any]


def breaks(old: Schema, new: Schema) -> list[str]:
    """One line for each thing, in a stable order."""
    return sorted(set(_Comparison(old, new).operations()))


def unannounced(broken: list[str], fragments: str) -> list[str]:
    """Those that no fragment quotes."""
    return [change for change in broken if f"`{change}`" not in fragments]


def contract_only(document: Any, *, names: bool = False) -> Any:
    """A description without words for people. names: its keys are fields, which may be called anything."""
    if isinstance(document, list):
        return [contract_only(node) for node in document]
    if not isinstance(document, dict):
        return document
    return {
        key: contract_only(value, names=key == "properties" and not names)
        for key, value in document.items()
        if names or key not in _WORDS
    }


@dataclass(slots=True)
class _Comparison:
    old: Schema
    new: Schema
    # Components are compared once for each way that they travel.
    compared: set[tuple[str, bool]] = field(default_factory=set)

    def operations(self) -> Iterator[str]:
        for path, methods in self.old["paths"].items():
            for method in METHODS:
                if method in methods:
                    now = self.new["paths"].get(path, {}).get(method)
                    yield from self._operation(methods[method], now)

    def _operation(self, was: Schema, now: Schema | None) -> Iterator[str]:
        name = was["operationId"]
        if now is None:
            yield f"{name}: is gone"
            return
        if now["operationId"] != name:
            yield f"{name}: is called {now['operationId']}"
        yield from self._parameters(name, _named(was), _named(now))
        yield from self._bodies(
            f"{name} request", was.get("requestBody"), now.get("requestBody"), in_request=True
        )
        if now.get("requestBody", {}).get("required") and not was.get("requestBody", {}).get("required"):
            yield f"{name} request: is required"
        for status, answer in was["responses"].items():
            if status.startswith(("2", "3")):
                place = f"{name} {status}"
                yield from self._bodies(place, answer, now["responses"].get(status), in_request=False)

    def _parameters(self, name: str, was: Schema, now: Schema) -> Iterator[str]:
        for key, key_value in was.items():
            if key not in now:
                yield f"{name}: parameter {key} is gone"
            else:
                yield from self._schema(
                    f"{name} {key}", key_value["schema"], now[key]["schema"], in_request=True
                )
        for key, key_value in now.items():
            if key_value.get("required") and not was.get(key, {}).get("required"):
                yield f"{name}: parameter {key} is required"

    def _bodies(
        self, place: str, was: Schema | None, now: Schema | None, *, in_request: bool
    ) -> Iterator[str]:
        if was is None:
            return
        if now is None:
            yield f"{place}: is gone"
            return
        for media, content in was.get("content", {}).items():
            if media not in now.get("content", {}):
                yield f"{place}: {media} is gone"
            else:
                yield from self._schema(
                    place, content["schema"], now["content"][media]["schema"], in_request=in_request
                )

    def _schema(self, place: str, was: Schema, now: Schema, *, in_request: bool) -> Iterator[str]:
        if "$ref" in was and "$ref" in now:
            if was["$ref"] == now["$ref"]:
                place = was["$ref"].rpartition("/")[2]
            if (pair := (f"{was['$ref']} {now['$ref']}", in_request)) in self.compared:
                return
            self.compared.add(pair)
        was, now = _flat(self.old, was), _flat(self.new, now)
        yield from _types(place, was, now, in_request=in_request)
        if in_request:
            # In an answer every list of values is open: clients keep what they do not know.
            yield from _values(place, was, now)
        yield from self._fields(place, was, now, in_request=in_request)
        for part in ("items", "additionalProperties"):
            if isinstance(was.get(part), dict) and isinstance(now.get(part), dict):
                yield from self._schema(f"{place}[]", was[part], now[part], in_request=in_request)

    def _fields(self, place: str, was: Schema, now: Schema, *, in_request: bool) -> Iterator[str]:
        before, after = was.get("properties", {}), now.get("properties", {})
        for name, member in before.items():
            if name not in after:
                yield f"{place}.{name}: is gone"
            else:
                yield from self._schema(f"{place}.{name}", member, after[name], in_request=in_request)
        needed, needs = set(was.get("required", ())), set(now.get("required", ()))
        if in_request:
            yield from (f"{place}.{name}: is required" for name in needs - needed)
        else:
            yield from (f"{place}.{name}: may be absent" for name in (needed - needs) & set(after))


def _types(place: str, was: Schema, now: Schema, *, in_request: bool) -> Iterator[str]:
    """Who sends may send less than before is taken; who reads may meet more than before was told."""
    before, after = _kinds(was), _kinds(now)
    narrow, wide = (before, after) if in_request else (after, before)
    if before and after and not narrow <= wide:
        yield f"{place}: is {_and(after)}, was {_and(before)}"


def _values(place: str, was: Schema, now: Schema) -> Iterator[str]:
    before, after = was.get("enum"), now.get("enum")
    if after is not None:
        lost = set(before) - set(after) if before is not None else {"anything else"}
        yield from (f"{place}: no longer takes {kind}" for kind in map(str, lost))
    for name, way in _LIMITS.items():
        limit = now.get(name)
        if limit is not None and (name not in was or (limit - was[name]) * way > 0):
            yield f"{place}: {name} is {limit}, was {was.get(name, 'none')}"


def _kinds(schema: Schema) -> set[str]:
    kinds = schema.get("type", [])
    kinds_found = {kinds} if isinstance(kinds, str) else set(kinds)
    return kinds_found | {"integer"} if "number" in kinds_found else kinds_found


def _and(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def _named(operation: Schema) -> dict[str, Any]:
    return {parameter["name"]: parameter for parameter in operation.get("parameters", ())}


def _flat(document: Schema, schema: Schema) -> Schema:
    """The schema with what it refers to in it."""
    if "$ref" in schema:
        target: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_flat(document, target), **rest}
    parts = [_flat(document, part) for part in schema.get("allOf", ())]
    whole: dict[str, Any] = {}
    for part in [*parts, {key: value for key, value in schema.items() if key != "allOf"}]:
        for key, value in part.items():
            joined = {**whole.get(key, {}), **value} if key == "properties" else value
            whole[key] = [*whole.get(key, ()), *value] if key == "required" else joined
    return whole


def load(path: Path) -> Any:
    return yaml.load(path.read_text(), yaml.CSafeLoader)


if __name__ == "__main__":
    text = yaml.dump(contract_only(load(ROOT / "openapi.yaml")), Dumper=yaml.CSafeDumper, sort_keys=False)
    RELEASED.write_text(
        "# The API of the last release, without words. Written by `make release-api`.\n" + text
    )
