"""Read a plugin configuration: the RFC's form and version 1, which are one syntax. Pure.

The submitted text can contain a service account and must not be stored: store `to_document` of the
configuration, and seal the secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from registry.plugins.documents.content import (
    DEFAULT_INSTALL_LOCATION,
    Configuration,
    PluginEntry,
    Provider,
    Verification,
)
from registry.plugins.documents.diagnostics import (
    Code,
    Diagnostic,
    Findings,
    Node,
    Severity,
    quote_name,
    suggest_name,
)
from registry.plugins.documents.fields import is_name, read_items, read_members
from registry.plugins.documents.paths import read_folder
from registry.plugins.documents.plugin_entries import read_entry
from registry.plugins.documents.provider_types import PROVIDER_TYPES
from registry.plugins.documents.providers import read_provider
from registry.plugins.documents.reading import Reading, read_value, read_yaml
from registry.plugins.documents.secrets import SecretToSeal

_CHECKSUM_HINT = "Add checksum: sha256:<digest>, or allow_unverified: true with a reason."


@dataclass(frozen=True, slots=True)
class Submission:
    """A valid configuration, and the secrets that were in its document."""

    configuration: Configuration
    secrets: tuple[SecretToSeal, ...] = ()


def read_configuration(text: str) -> Reading[Submission]:
    """Read a configuration from YAML or JSON, with the line and column of each diagnostic."""
    return read_yaml(text, _read_root)


def read_configuration_value(value: Any) -> Reading[Submission]:
    """Read a configuration from a parsed document."""
    return read_value(value, _read_root)


def check_locked(configuration: Configuration) -> tuple[Diagnostic, ...]:
    """Return an error for each artifact without a checksum, which a locked installation refuses."""
    message = "A locked installation requires a checksum of every artifact."
    return tuple(
        Diagnostic(
            Code.CHECKSUM_MISSING, Severity.ERROR, f"/plugins/plugins/{index}", message, _CHECKSUM_HINT
        )
        for index, entry in enumerate(configuration.plugins)
        if entry.enabled and entry.verification is Verification.PUBLISHED_CHECKSUM
    )


def _read_root(node: Node, findings: Findings) -> Submission | None:
    root = read_members(node, ("plugins",), findings, required=("plugins",))
    if "plugins" not in root:
        return None
    members = read_members(root["plugins"], ("install_location", "providers", "plugins"), findings)
    providers, secrets = _read_providers(members.get("providers"), findings)
    entries = _read_entries(members.get("plugins"), findings)
    _check_providers_exist(members.get("plugins"), members.get("providers"), findings)
    _warn_of_missing_checksums(entries, providers, findings)
    location = _read_location(members.get("install_location"), findings)
    configuration = Configuration(
        tuple(provider for provider, _ in providers), tuple(entry for entry, _ in entries), location
    )
    return Submission(configuration, secrets)


def _read_location(node: Node | None, findings: Findings) -> str:
    if node is None or node.value == "":
        return DEFAULT_INSTALL_LOCATION
    return read_folder(node, findings) or DEFAULT_INSTALL_LOCATION


def _read_providers(
    node: Node | None, findings: Findings
) -> tuple[list[tuple[Provider, Node]], tuple[SecretToSeal, ...]]:
    items = list(read_items(node, findings)) if node else []
    readings = [(read_provider(item, findings), item) for item in items]
    _report_duplicates(items, "name", findings)
    providers = [(provider, item) for (provider, _), item in readings if provider]
    return providers, tuple(secret for (_, secret), _ in readings if secret)


def _read_entries(node: Node | None, findings: Findings) -> list[tuple[PluginEntry, Node]]:
    items = list(read_items(node, findings)) if node else []
    entries = [(entry, item) for item in items if (entry := read_entry(item, findings))]
    _report_duplicates(items, "output", findings)
    return entries


def _find_names(items: Iterable[Node], field: str) -> Iterator[tuple[str, Node]]:
    """Yield valid names and their nodes, also of entries that have other errors."""
    for item in items:
        if isinstance(item.value, dict) and is_name(item.value.get(field)):
            yield item.value[field], item.member(field)


def _report_duplicates(items: Iterable[Node], field: str, findings: Findings) -> None:
    pointers: dict[str, str] = {}
    for name, node in _find_names(items, field):
        first = pointers.setdefault(name, node.pointer)
        if first != node.pointer:
            message = f"The {field} {quote_name(name)} is used already, at {first}."
            findings.error(node.pointer, Code.DUPLICATE, message)


def _check_providers_exist(entries: Node | None, providers: Node | None, findings: Findings) -> None:
    """Report unknown providers. A provider with errors of its own still counts as known."""
    names = {name for name, _ in _find_names(_list_items(providers), "name")}
    for name, node in _find_names(_list_items(entries), "provider"):
        if name not in names:
            hint = suggest_name(name, names) if names and not findings.is_full else ""
            message = f"Unknown provider {quote_name(name)}."
            findings.error(node.pointer, Code.UNKNOWN_PROVIDER, message, hint or "Add it to providers.")


def _list_items(node: Node | None) -> Iterator[Node]:
    return node.items() if node and isinstance(node.value, list) else iter(())


def _warn_of_missing_checksums(
    entries: list[tuple[PluginEntry, Node]], providers: list[tuple[Provider, Node]], findings: Findings
) -> None:
    demanding = {provider.name for provider, _ in providers if PROVIDER_TYPES[provider.type].demands_checksum}
    for entry, item in entries:
        if entry.provider in demanding and entry.verification is Verification.PUBLISHED_CHECKSUM:
            message = "Without a checksum, the artifact is installed only if its provider publishes one."
            findings.warn(item.pointer, Code.CHECKSUM_MISSING, message, _CHECKSUM_HINT)
