"""Read fields of a plugin document strictly: unknown fields are errors, and no value is converted. Pure.

A null value counts as an absent field, so that `auth:` without a value is valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from registry.plugins.documents import secrets
from registry.plugins.documents.diagnostics import Code, Findings, Node, quote_name, suggest_name

Result = TypeVar("Result")
MAX_TEXT = 4096
MAX_ITEMS = 1000
_PLACEHOLDER = re.compile(r"<[A-Za-z][A-Za-z0-9_ .-]{0,80}>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME = re.compile(r"[a-z0-9](?:(?:[a-z0-9_-]|\.(?!\.)){0,61}[a-z0-9])?")
NAME_RULE = "1 to 63 lower-case letters, digits, '.', '_' and '-', with a letter or digit at both ends"


def has_placeholder(value: Any) -> bool:
    """True if the text contains a placeholder such as `<bucket>`, as printed in examples."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None


def read_members(
    node: Node, allowed: Collection[str], findings: Findings, required: Collection[str] = ()
) -> dict[str, Node]:
    """Return the allowed members that have a value. Report unknown and missing ones."""
    if not isinstance(node.value, Mapping):
        findings.error(node.pointer, Code.INVALID_TYPE, f"Expected an object, not {_kind(node.value)}.")
        return {}
    nodes = {name: node.member(name) for name in node.value if name in allowed}
    for name in node.value:
        if findings.is_full:
            break
        if name not in allowed:
            _report_unknown(node.member(name), str(name), allowed, findings)
    present = {name: inner for name, inner in nodes.items() if inner.value is not None}
    for name in required:
        if name not in present:
            findings.error(node.pointer, Code.REQUIRED, f"The field {name!r} is required.")
    return present


def _report_unknown(node: Node, name: str, allowed: Collection[str], findings: Findings) -> None:
    if secrets.is_secret_name(name):
        message = f"The field {quote_name(name)} would hold a secret, which cannot be in this document."
        findings.error(node.pointer, Code.INLINE_SECRET, message, secrets.HINT)
        return
    message = f"Unknown field {quote_name(name)}."
    findings.error(node.pointer, Code.UNKNOWN_FIELD, message, suggest_name(name, allowed))


def read_items(node: Node, findings: Findings) -> Iterator[Node]:
    """Yield the entries of a list. Report any other value, and a list that is too long."""
    if not isinstance(node.value, list):
        findings.error(node.pointer, Code.INVALID_TYPE, f"Expected a list, not {_kind(node.value)}.")
    elif len(node.value) > MAX_ITEMS:
        findings.error(node.pointer, Code.TOO_LARGE, f"The list has more than {MAX_ITEMS} entries.")
    else:
        yield from node.items()


def read_optional(
    members: Mapping[str, Node],
    name: str,
    read: Callable[[Node, Findings], Result | None],
    findings: Findings,
) -> Result | None:
    """Read the member if it has a value."""
    return read(members[name], findings) if name in members else None


def read_text(node: Node, findings: Findings) -> str | None:
    """Read one line of text. Report a placeholder, a secret and any value that is not text."""
    text = read_line(node, findings)
    if has_placeholder(text):
        findings.error(node.pointer, Code.PLACEHOLDER, "Replace the placeholder with a value.")
        return None
    return text


def read_line(node: Node, findings: Findings) -> str | None:
    """Read one line of text, in which `<name>` is ordinary text."""
    if (text := read_block(node, findings)) is None:
        return None
    if not text.strip() or len(text) > MAX_TEXT or _CONTROL.search(text):
        message = f"Expected one line of text with 1 to {MAX_TEXT} characters."
        findings.error(node.pointer, Code.INVALID_VALUE, message)
        return None
    return text


def read_block(node: Node, findings: Findings) -> str | None:
    """Read text of any length and number of lines. Report a secret and any value that is not text."""
    if not isinstance(node.value, str):
        is_scalar = isinstance(node.value, int | float)
        hint = "Quote it." if is_scalar else ""
        findings.error(node.pointer, Code.INVALID_TYPE, f"Expected text, not {_kind(node.value)}.", hint)
        return None
    if secrets.is_secret_value(node.value):
        findings.error(node.pointer, Code.INLINE_SECRET, "The value contains a credential.", secrets.HINT)
        return None
    return node.value


def read_version_text(node: Node, findings: Findings) -> str | None:
    """Read a version, which must be quoted if it looks like a number: 3.10 would become 3.1."""
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        message = "A version must be text, but this one is a number."
        findings.error(node.pointer, Code.UNQUOTED_VERSION, message, 'Quote it, such as "3.6".')
        return None
    return read_text(node, findings)


def is_name(value: Any) -> bool:
    """True if the value is a valid name of a plugin or provider."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def read_name(node: Node, findings: Findings) -> str | None:
    """Read a name by the rule of plugins and providers."""
    text = read_text(node, findings)
    if text is None or is_name(text):
        return text
    findings.error(node.pointer, Code.INVALID_VALUE, f"Invalid name. Use {NAME_RULE}.")
    return None


def read_boolean(node: Node, findings: Findings) -> bool | None:
    if isinstance(node.value, bool):
        return node.value
    findings.error(node.pointer, Code.INVALID_TYPE, f"Expected true or false, not {_kind(node.value)}.")
    return None


def read_integer(node: Node, findings: Findings, maximum: int) -> int | None:
    """Read a whole number from 0 to the maximum."""
    if isinstance(node.value, int) and not isinstance(node.value, bool) and 0 <= node.value <= maximum:
        return node.value
    findings.error(node.pointer, Code.INVALID_VALUE, f"Expected a whole number from 0 to {maximum}.")
    return None


def read_choice(node: Node, choices: Collection[str], findings: Findings) -> str | None:
    """Read one of the choices. Report others with the closest one."""
    text = read_text(node, findings)
    if text is None or text in choices:
        return text
    findings.error(node.pointer, Code.INVALID_VALUE, "Unknown value.", suggest_name(text, choices))
    return None


def _kind(value: Any) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return "nothing" if value is None else kinds.get(type(value), "an object")
