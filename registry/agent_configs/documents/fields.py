"""Reading members of a document strictly: what is not known is an error, and nothing is converted. Pure."""

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

# Far above every limit of documents: it only keeps a hostile one from taking a second.
_MAX_ENTRIES = 10_000


def read_members(
    node: Node, allowed: Collection[str], findings: Findings, *, forbidden: Collection[str] | None = ()
) -> dict[str, Node]:
    """The members that are allowed here. The others, and anything but an object, are said to be wrong.

    forbidden: names that exist, but are the platform's; None if everything is that is not misspelled.
    """
    if not isinstance(node.value, Mapping):
        findings.error(
            node.place, Code.SCHEMA_VIOLATION, f"An object is wanted here, not {quote_value(node.value)}."
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
            message = f"{name} belongs to the platform. A team's document cannot set it."
            findings.error(place, Code.FORBIDDEN_FIELD, message, "Take it out.")
        else:
            message = f"There is no {quote_value(name)} here."
            findings.error(place, Code.UNKNOWN_FIELD, message, suggest_name(name, allowed))
    return nodes


def _is_forbidden(name: str, allowed: Collection[str], forbidden: Collection[str] | None) -> bool:
    return not resembles_any(name, allowed) if forbidden is None else name in forbidden


def read_entries(node: Node, findings: Findings) -> Iterator[tuple[str, Node]]:
    """Name and value, from an object or from Flyte's list of objects. A name that comes again is an error."""
    if isinstance(node.value, Mapping):
        if _is_short(node, findings):
            yield from ((name, node.member(name)) for name in node.value)
        return
    names: set[str] = set()
    for item in read_items(node, findings):
        if not isinstance(item.value, Mapping):
            message = f"An object with a name and its value is wanted here, not {quote_value(item.value)}."
            findings.error(item.place, Code.SCHEMA_VIOLATION, message)
            continue
        for name in item.value:
            if name in names:
                message = f"{quote_value(name)} stands twice in the list. Flyte would take the last."
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
    hint = "Flyte would split it at the commas. Write a list." if isinstance(node.value, str) else ""
    message = f"A list is wanted here, not {quote_value(node.value)}."
    findings.error(node.place, Code.SCHEMA_VIOLATION, message, hint)


def _is_short(node: Node, findings: Findings) -> bool:
    """False, once it was said, if it is so long that nobody can mean it: then it is not read."""
    if len(node.value) <= _MAX_ENTRIES:
        return True
    findings.error(
        node.place, Code.TOO_LARGE, f"This has {len(node.value)} entries, more than {_MAX_ENTRIES}."
    )
    return False


def read_text(node: Node, findings: Findings) -> str | None:
    """A text that is not empty, or None once it was said to be wrong."""
    if isinstance(node.value, str) and node.value:
        return node.value
    hint = "" if isinstance(node.value, str) or node.value is None else "Put it into quotes."
    findings.error(
        node.place, Code.SCHEMA_VIOLATION, f"A text is wanted here, not {quote_value(node.value)}.", hint
    )
    return None
