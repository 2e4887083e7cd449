"""Read the plugins of a plugin configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from registry.plugins import versions
from registry.plugins.documents import images, secrets
from registry.plugins.documents.checksums import read_checksum
from registry.plugins.documents.content import PluginEntry, Variable
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import (
    has_placeholder,
    read_boolean,
    read_line,
    read_members,
    read_name,
    read_optional,
    read_text,
    read_version_text,
)
from registry.plugins.documents.paths import read_artifact_path
from registry.plugins.documents.signatures import read_signature

_REQUIRED = ("provider", "output", "path")
_FIELDS = (
    *_REQUIRED,
    "version",
    "checksum",
    "signature",
    "config",
    "enabled",
    "allow_unverified",
    "reason",
    "requires_server",
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_IMAGE_VARIABLES: Mapping[str, Callable[[Node, Findings], str | None]] = {
    "executor_image": images.read_image,
    "init_image": images.read_pinned_image,
}


def read_entry(node: Node, findings: Findings) -> PluginEntry | None:
    """Read one plugin. Its provider is checked with all providers known."""
    members = read_members(node, _FIELDS, findings, _REQUIRED)
    allow_unverified = read_optional(members, "allow_unverified", read_boolean, findings) or False
    _check_reason(node, members, allow_unverified, findings)
    entry = PluginEntry(
        provider=read_optional(members, "provider", read_name, findings) or "",
        output=read_optional(members, "output", read_name, findings) or "",
        path=read_optional(members, "path", read_artifact_path, findings) or "",
        config=_read_config(members["config"], findings) if "config" in members else {},
        version=read_optional(members, "version", read_range, findings) or "",
        checksum=read_optional(members, "checksum", read_checksum, findings) or "",
        signature=read_optional(members, "signature", read_signature, findings),
        enabled=read_optional(members, "enabled", read_boolean, findings) is not False,
        allow_unverified=allow_unverified,
        reason=read_optional(members, "reason", read_text, findings) or "",
        requires_server=read_optional(members, "requires_server", read_range, findings) or "",
    )
    return entry if entry.provider and entry.output and entry.path else None


def read_range(node: Node, findings: Findings) -> str | None:
    """Read a version or a range, and return it normalised."""
    text = read_version_text(node, findings)
    if text is None:
        return None
    try:
        return versions.parse_range(text).text
    except versions.InvalidRange as error:
        findings.error(node.pointer, Code.INVALID_VERSION, str(error))
        return None


def _check_reason(
    node: Node, members: Mapping[str, Node], allow_unverified: bool, findings: Findings
) -> None:
    if allow_unverified and "reason" not in members:
        message = "The field 'reason' is required with allow_unverified: true."
        findings.error(node.pointer, Code.REQUIRED, message, "State why this artifact is not verified.")
    if not allow_unverified and "reason" in members:
        message = "The field 'reason' explains allow_unverified: true, which is not set."
        findings.error(members["reason"].pointer, Code.INVALID_VALUE, message)
    if allow_unverified and "checksum" in members:
        message = "The fields 'checksum' and 'allow_unverified: true' exclude each other."
        findings.error(
            members["allow_unverified"].pointer, Code.INVALID_VALUE, message, "Remove one of them."
        )


def _read_config(node: Node, findings: Findings) -> dict[str, Variable]:
    if not isinstance(node.value, Mapping):
        findings.error(node.pointer, Code.INVALID_TYPE, "Expected an object with variables.")
        return {}
    values = {name: _read_variable(name, node.member(name), findings) for name in node.value}
    return {name: value for name, value in values.items() if value is not None}


def _read_variable(name: str, node: Node, findings: Findings) -> Variable | None:
    if not _VARIABLE.fullmatch(name):
        message = "The name of a variable must have letters, digits and '_', and not begin with a digit."
        findings.error(node.pointer, Code.INVALID_VALUE, message)
        return None
    if secrets.is_secret_name(name):
        message = f"The variable {name!r} would hold a secret, which cannot be in this document."
        findings.error(node.pointer, Code.INLINE_SECRET, message, "Store it as a secret of the job.")
        return None
    if name in _IMAGE_VARIABLES:
        return _IMAGE_VARIABLES[name](node, findings)
    if isinstance(node.value, bool | int) and not name.endswith("version"):
        return node.value
    if name.endswith("version"):
        return read_version_text(node, findings)
    return _read_value(node, findings)


def _read_value(node: Node, findings: Findings) -> str | None:
    """Read a variable's text, which can be empty."""
    if node.value == "" or has_placeholder(node.value):
        return "" if node.value == "" else read_text(node, findings)
    return read_line(node, findings)
