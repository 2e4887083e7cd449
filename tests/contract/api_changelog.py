"""What changed in the API since the last release, as Markdown for the changelog: `make api-changelog`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contract.api_changes import METHODS, RELEASED, breaks, load
from tests.support.paths import ROOT

Document = Mapping[str, Any]


def changelog(old: Document, new: Document) -> str:
    """Return three lists: what was added, what is deprecated, what may break a client."""
    parts = {
        "Added": [*_added_operations(old, new), *_added_parameters(old, new), *_added_members(old, new)],
        "Deprecated": [*_deprecated(old, new)],
        "May break clients": [f"`{line}`" for line in breaks(old, new)],
    }
    texts = [
        f"### {title}\n\n" + "".join(f"- {line}\n" for line in lines)
        for title, lines in parts.items()
        if lines
    ]
    return "\n".join(texts) or "The API has not changed.\n"


def _operations(document: Document) -> dict[str, tuple[str, Any]]:
    """Return each operation by its id, with its method and path."""
    return {
        operation["operationId"]: (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


def _added_operations(old: Document, new: Document) -> Iterator[str]:
    before = _operations(old)
    for name, (place, operation) in sorted(_operations(new).items()):
        if name not in before:
            summary = operation.get("summary", "")
            yield f"`{place}` (`{name}`){f': {summary}' if summary else ''}"


def _added_parameters(old: Document, new: Document) -> Iterator[str]:
    after = _operations(new)
    for name, (_, operation) in sorted(_operations(old).items()):
        if name in after:
            before = {each["name"] for each in operation.get("parameters", ())}
            now = [each["name"] for each in after[name][1].get("parameters", ())]
            yield from (f"`{name}`: parameter `{each}`" for each in now if each not in before)


def _added_members(old: Document, new: Document) -> Iterator[str]:
    """Yield new fields and enum values of schemas that both have."""
    after = new["components"]["schemas"]
    for name, schema in sorted(old["components"]["schemas"].items()):
        now = after.get(name, {})
        fields = [each for each in now.get("properties", {}) if each not in schema.get("properties", {})]
        yield from (f"`{name}.{each}`" for each in fields)
        values = [each for each in now.get("enum", ()) if "enum" in schema and each not in schema["enum"]]
        yield from (f"`{name}`: value `{each}`" for each in values)


def _deprecated(old: Document, new: Document) -> Iterator[str]:
    before = _operations(old)
    for name, (place, operation) in sorted(_operations(new).items()):
        was = before.get(name, ("", {}))[1]
        if operation.get("deprecated") and not was.get("deprecated"):
            yield f"`{place}` (`{name}`)"


if __name__ == "__main__":
    print(changelog(load(RELEASED), load(ROOT / "openapi.yaml")), end="")
