"""Read fields of a document strictly: an unknown field is an error, and no value is converted. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from registry.agent_configs.documents.diagnostics import (
    Code,
    Findings,
    Node,
    quote_value,
    resembles_any,
    suggest_name,
)

# Far above all limits of documents; it only stops a hostile document from taking a second.
_MAX_ENTRIES = 10_000


def read_members(
    node: Node, allowed: Collection[str], findings: Findings, *, forbidden: Collection[str] | None = ()
) -> dict[str, Node]:
    """Return the allowed members. Report all others, and any value that is not an object.

    forbidden: names reserved for the platform; None if every name is that is not a misspelling.
    """
    if not isinstance(node.value, Mapping):
        findings.error(
            node.place, Code.SCHEMA_VIOLATION, f"Expected an object, not {quote_value(node.value)}."
        )
        return {}
    nodes = {}
    for name in node.value:
        place = node.place.below(name)
        if findings.is_full:
            break
        if name in allowed:
            nodes[name] = node.member(name)
        elif _is_forbidden(name, allowed, forbidden):
            message = f"{name} is reserved for the platform; a team's document cannot set it."
            findings.error(place, Code.FORBIDDEN_FIELD, message, "Remove it.")
        else:
            message = f"Unknown field {quote_value(name)}."
            findings.error(place, Code.UNKNOWN_FIELD, message, suggest_name(name, allowed))
    return nodes


def _is_forbidden(name: str, allowed: Collection[str], forbidden: Collection[str] | None) -> bool:
    return not resembles_any(name, allowed) if forbidden is None else name in forbidden


def read_entries(node: Node, findings: Findings) -> Iterator[tuple[str, Node]]:
    """Yield names and values of an object or of Flyte's list of objects. A repeated name is an error."""
    if isinstance(node.value, Mapping):
        if _is_short(node, findings):
            yield from ((name, node.member(name)) for name in node.value)
        return
    names: set[str] = set()
    for item in read_items(node, findings):
        if not isinstance(item.value, Mapping):
            message = f"Expected an object with one name and value, not {quote_value(item.value)}."
            findings.error(item.place, Code.SCHEMA_VIOLATION, message)
            continue
        for name in item.value:
            if name in names:
                message = f"{quote_value(name)} is in the list twice. Flyte would use the last one."
                findings.error(item.place.below(name), Code.DUPLICATE, message)
                continue
            names.add(name)
            yield name, item.member(name)


def read_items(node: Node, findings: Findings) -> Iterator[Node]:
    if isinstance(node.value, list):
        if not _is_short(node, findings):
            return
        yield from (Node(value, node.place.below(index)) for index, value in enumerate(node.value))
        return
    hint = "Flyte would split it at commas. Write a list." if isinstance(node.value, str) else ""
    message = f"Expected a list, not {quote_value(node.value)}."
    findings.error(node.place, Code.SCHEMA_VIOLATION, message, hint)


def _is_short(node: Node, findings: Findings) -> bool:
    """Report a value with too many entries and return False, so that it is not read."""
    if len(node.value) <= _MAX_ENTRIES:
        return True
    findings.error(
        node.place, Code.TOO_LARGE, f"It has {len(node.value)} entries; the maximum is {_MAX_ENTRIES}."
    )
    return False


def read_text(node: Node, findings: Findings) -> str | None:
    """Return text that is not empty. Report any other value and return None."""
    if isinstance(node.value, str) and node.value:
        return node.value
    hint = "" if isinstance(node.value, str) or node.value is None else "Put it in quotation marks."
    findings.error(
        node.place, Code.SCHEMA_VIOLATION, f"Expected non-empty text, not {quote_value(node.value)}.", hint
    )
    return None
