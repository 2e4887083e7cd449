"""Read the providers of a plugin configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.formats import go_durations
from registry.plugins.documents import secrets
from registry.plugins.documents.authentication import read_auth
from registry.plugins.documents.content import Auth, Provider
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import (
    has_placeholder,
    read_choice,
    read_integer,
    read_members,
    read_name,
    read_optional,
    read_text,
)
from registry.plugins.documents.paths import read_prefix
from registry.plugins.documents.provider_types import PROVIDER_TYPES
from registry.plugins.documents.provider_types.provider_type import ProviderType
from registry.plugins.documents.secrets import SecretToSeal

_COMMON_FIELDS = ("name", "type", "prefix", "auth", "caBundle", "timeout", "retries")
_MAX_RETRIES = 10


def read_provider(node: Node, findings: Findings) -> tuple[Provider | None, SecretToSeal | None]:
    """Read a provider, and the service account that its document contains on write."""
    provider_type = _find_type(node)
    members = read_members(node, _allowed_fields(provider_type), findings, _required_fields(provider_type))
    name = read_optional(members, "name", read_name, findings)
    type_name = read_optional(members, "type", _read_type, findings)
    settings = _read_settings(members, provider_type, findings)
    auth, secret = _read_credentials(members, name or "", provider_type, findings)
    provider = Provider(
        name=name or "",
        type=type_name or "",
        settings=settings,
        auth=auth,
        prefix=read_optional(members, "prefix", read_prefix, findings) or "",
        ca_bundle=read_optional(members, "caBundle", _read_ca_bundle, findings) or "",
        timeout=read_optional(members, "timeout", _read_timeout, findings) or "",
        retries=read_optional(members, "retries", _read_retries, findings),
    )
    _check_transport(members, provider, provider_type, findings)
    return (provider if name and type_name else None), secret


def _find_type(node: Node) -> ProviderType | None:
    name = node.value.get("type") if isinstance(node.value, Mapping) else None
    return PROVIDER_TYPES.get(name) if isinstance(name, str) else None


def _allowed_fields(provider_type: ProviderType | None) -> tuple[str, ...]:
    """Return the fields of the type, or those of all types if it is unknown."""
    types = [provider_type] if provider_type else list(PROVIDER_TYPES.values())
    settings = (name for each in types for name in each.settings)
    # Every type allows it here: a key for the wrong type must not be reported as an unknown field.
    return (*_COMMON_FIELDS, "service_account", *settings)


def _required_fields(provider_type: ProviderType | None) -> tuple[str, ...]:
    settings = provider_type.settings if provider_type else {}
    return ("name", "type", *(name for name, setting in settings.items() if setting.required))


def _read_settings(
    members: Mapping[str, Node], provider_type: ProviderType | None, findings: Findings
) -> dict[str, str]:
    settings = provider_type.settings if provider_type else {}
    values = {
        name: read_optional(members, name, setting.read, findings) for name, setting in settings.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def _read_credentials(
    members: Mapping[str, Node], name: str, provider_type: ProviderType | None, findings: Findings
) -> tuple[Auth, SecretToSeal | None]:
    auth = read_auth(members["auth"], provider_type, findings) if "auth" in members else Auth()
    if "service_account" not in members:
        return auth, None
    secret = _read_service_account(members["service_account"], name, provider_type, findings)
    if "auth" in members:
        message = "The fields 'auth' and 'service_account' exclude each other."
        findings.error(members["auth"].pointer, Code.INVALID_AUTH, message, "Remove one of them.")
    return (Auth("gcp", secret_ref=secret.name), secret) if secret else (auth, None)


def _read_service_account(
    node: Node, name: str, provider_type: ProviderType | None, findings: Findings
) -> SecretToSeal | None:
    if provider_type is not None and not provider_type.accepts_service_account:
        message = f"Providers of type {provider_type.name} have no service account."
        findings.error(node.pointer, Code.INLINE_SECRET, message, secrets.HINT)
        return None
    if has_placeholder(node.value):
        findings.error(node.pointer, Code.PLACEHOLDER, "Replace the placeholder with a value.")
        return None
    key = secrets.decode_service_account(node.value) if isinstance(node.value, str) else None
    if key is None:
        message = "The service account must be the Base64 form of its JSON key."
        findings.error(node.pointer, Code.INVALID_VALUE, message)
        return None
    return SecretToSeal(f"plugin-provider-{name}-service-account", node.pointer, key)


def _check_transport(
    members: Mapping[str, Node], provider: Provider, provider_type: ProviderType | None, findings: Findings
) -> None:
    field = provider_type.address_field if provider_type else ""
    if provider.auth.type != "none" and provider.settings.get(field, "").startswith("http://"):
        message = "Credentials would be sent without encryption."
        findings.warn(members[field].pointer, Code.INSECURE_AUTH, message, "Use https.")


def _read_type(node: Node, findings: Findings) -> str | None:
    return read_choice(node, PROVIDER_TYPES, findings)


def _read_retries(node: Node, findings: Findings) -> int | None:
    return read_integer(node, findings, _MAX_RETRIES)


def _read_timeout(node: Node, findings: Findings) -> str | None:
    text = read_text(node, findings)
    if text is None:
        return None
    try:
        duration = go_durations.parse(text)
    except ValueError:
        duration = 0
    if go_durations.SECOND <= duration <= go_durations.HOUR:
        return go_durations.write(duration)
    findings.error(node.pointer, Code.INVALID_VALUE, "Expected a duration from 1s to 1h, such as 30s.")
    return None


def _read_ca_bundle(node: Node, findings: Findings) -> str | None:
    """Read PEM certificates, which are public."""
    text = node.value.strip() if isinstance(node.value, str) else ""
    if text.startswith("-----BEGIN CERTIFICATE-----") and not secrets.is_secret_value(text):
        return f"{text}\n"
    findings.error(node.pointer, Code.INVALID_VALUE, "Expected certificates in PEM form, and nothing else.")
    return None
