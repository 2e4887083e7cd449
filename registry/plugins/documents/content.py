"""The content of a valid plugin configuration, normalised to version 1. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

DEFAULT_INSTALL_LOCATION = ".plugins"
Variable = str | int | bool


class Verification(StrEnum):
    """The proof that an installer demands of an artifact."""

    CHECKSUM = "checksum"
    PUBLISHED_CHECKSUM = "published_checksum"
    NONE = "none"


class SignaturePolicy(StrEnum):
    """What happens to an artifact whose signature is missing or invalid."""

    OFF = "off"
    WARN = "warn"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class Auth:
    """Authentication at a provider, by reference. At most one of secret_ref, env and file is set."""

    type: str = "none"
    secret_ref: str = ""
    env: str = ""
    file: str = ""
    header: str = ""
    username: str = ""

    @property
    def uses_platform_identity(self) -> bool:
        """True if the installer's own environment or cloud identity is the credential."""
        return self.type != "none" and not self.secret_ref


@dataclass(frozen=True, slots=True)
class Provider:
    """A repository of plugins. settings: the fields of its type, such as `url` or `bucket`."""

    name: str
    type: str
    settings: Mapping[str, str]
    auth: Auth = Auth()
    prefix: str = ""
    ca_bundle: str = ""
    timeout: str = ""
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of an artifact. path: relative to the provider; identity, issuer: of Sigstore."""

    policy: SignaturePolicy
    type: str = ""
    path: str = ""
    identity: str = ""
    issuer: str = ""
    public_key: str = ""


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin to install. version: a version or a range; checksum: `<algorithm>:<hexadecimal>`."""

    provider: str
    output: str
    path: str
    config: Mapping[str, Variable]
    version: str = ""
    checksum: str = ""
    signature: Signature | None = None
    enabled: bool = True
    allow_unverified: bool = False
    reason: str = ""
    requires_server: str = ""

    @property
    def verification(self) -> Verification:
        if self.checksum:
            return Verification.CHECKSUM
        return Verification.NONE if self.allow_unverified else Verification.PUBLISHED_CHECKSUM


@dataclass(frozen=True, slots=True)
class Configuration:
    """All providers and plugins of an installation."""

    providers: tuple[Provider, ...] = ()
    plugins: tuple[PluginEntry, ...] = ()
    install_location: str = DEFAULT_INSTALL_LOCATION

    def provider_of(self, entry: PluginEntry) -> Provider:
        return next(provider for provider in self.providers if provider.name == entry.provider)


def to_document(configuration: Configuration) -> dict[str, Any]:
    """Return the normalised document. Reading it gives the same configuration."""
    return {
        "plugins": {
            "install_location": configuration.install_location,
            "providers": [_write_provider(provider) for provider in configuration.providers],
            "plugins": [_write_entry(entry) for entry in configuration.plugins],
        }
    }


def _write_provider(provider: Provider) -> dict[str, Any]:
    auth = provider.auth
    references = {"secretRef": auth.secret_ref, "env": auth.env, "file": auth.file}
    details = {"header": auth.header, "username": auth.username}
    optional = {
        "prefix": provider.prefix,
        "caBundle": provider.ca_bundle,
        "timeout": provider.timeout,
        "retries": provider.retries,
    }
    return {
        "name": provider.name,
        "type": provider.type,
        **provider.settings,
        "auth": {"type": auth.type, **_set_fields(references), **_set_fields(details)},
        **_set_fields(optional),
    }


def _write_entry(entry: PluginEntry) -> dict[str, Any]:
    signature = entry.signature
    optional = {
        "version": entry.version,
        "checksum": entry.checksum,
        "signature": _write_signature(signature) if signature else None,
        "allow_unverified": entry.allow_unverified or None,
        "reason": entry.reason,
        "requires_server": entry.requires_server,
    }
    return {
        "provider": entry.provider,
        "output": entry.output,
        "path": entry.path,
        "config": dict(entry.config),
        "enabled": entry.enabled,
        **_set_fields(optional),
    }


def _write_signature(signature: Signature) -> dict[str, Any]:
    optional = {
        "type": signature.type,
        "path": signature.path,
        "identity": signature.identity,
        "issuer": signature.issuer,
        "publicKey": signature.public_key,
    }
    return {"policy": signature.policy.value, **_set_fields(optional)}


def _set_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value != ""}
