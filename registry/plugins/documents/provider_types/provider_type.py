"""A type of provider: its fields, their checks, and its authentication. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from registry.plugins.documents.diagnostics import Findings, Node


@dataclass(frozen=True, slots=True)
class SettingField:
    """A field of a provider's type. read: returns the normalised value, or None after reporting an error."""

    read: Callable[[Node, Findings], str | None]
    required: bool = False


@dataclass(frozen=True, slots=True)
class ProviderType:
    """A type of provider.

    address_field: the URL that receives credentials, if any. accepts_service_account: a Base64 key is
    accepted on write and becomes a secret. demands_checksum: without `checksum` there is a warning.
    reads_server_files: only the platform may configure it.
    """

    name: str
    settings: Mapping[str, SettingField]
    auth_types: tuple[str, ...] = ()
    address_field: str = ""
    accepts_service_account: bool = False
    demands_checksum: bool = False
    reads_server_files: bool = False
