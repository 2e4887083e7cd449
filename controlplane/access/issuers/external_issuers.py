"""Issuers of access tokens that the operator configures (AUTH_SERVER=external). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from controlplane.identity.ceilings import is_ceiling

_DEFAULT_SCOPES = ("all",)


@dataclass(frozen=True, slots=True)
class ExternalIssuer:
    """An issuer whose access tokens authenticate requests.

    audiences: one of which a token must have; empty for our public URL. console_client: the client of ID
    tokens, for Flyte's scheme `IDToken`. clients: names of the services as which its clients act.
    default_scopes: of tokens without any scope.
    """

    issuer: str
    audiences: frozenset[str] = frozenset()
    jwks_uri: str = ""
    console_client: str = ""
    default_scopes: tuple[str, ...] = _DEFAULT_SCOPES
    clients: Mapping[str, str] = field(default_factory=dict)


def parse_issuers(text: str) -> dict[str, ExternalIssuer]:
    """Return the issuers in a YAML document, by name. Raises ValueError that names the entry."""
    if not text.strip():
        return {}
    try:
        document = strict_yaml.load(text)
    except MalformedBody as error:
        raise ValueError(error.detail) from error
    entries = document.get("issuers") if isinstance(document, Mapping) else document
    if not isinstance(entries, list):
        raise ValueError("it must be a list of issuers, or contain one as `issuers`")
    issuers: dict[str, ExternalIssuer] = {}
    for index, entry in enumerate(entries):
        issuer = _parse_issuer(entry, f"issuers/{index}")
        if issuer.issuer in issuers:
            raise ValueError(f"issuers/{index}: the issuer is repeated")
        issuers[issuer.issuer] = issuer
    return issuers


def _parse_issuer(entry: Any, place: str) -> ExternalIssuer:
    members = {"issuer", "allowed_audience", "jwks_uri", "console_client_id", "default_scopes", "clients"}
    if not isinstance(entry, Mapping):
        raise ValueError(f"{place} must be an object")
    if unknown := sorted(set(entry) - members):
        raise ValueError(f"{place}/{unknown[0]} is unknown; use {', '.join(sorted(members))}")
    scopes = _texts(entry.get("default_scopes", list(_DEFAULT_SCOPES)), f"{place}/default_scopes")
    if not all(map(is_ceiling, scopes)):
        raise ValueError(f"{place}/default_scopes: use all, read, overrides, agents or publish:<team>")
    return ExternalIssuer(
        issuer=_url(entry.get("issuer"), f"{place}/issuer"),
        audiences=frozenset(_texts(entry.get("allowed_audience", []), f"{place}/allowed_audience")),
        jwks_uri=_url(entry["jwks_uri"], f"{place}/jwks_uri") if entry.get("jwks_uri") else "",
        console_client=_text(entry.get("console_client_id", ""), f"{place}/console_client_id"),
        default_scopes=scopes,
        clients=_clients(entry.get("clients", {}), f"{place}/clients"),
    )


def _texts(value: Any, place: str) -> tuple[str, ...]:
    """Return a list of strings; a single string is a list of one."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) and item for item in values):
        raise ValueError(f"{place} must be a string or a list of strings")
    return tuple(values)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{place} must be a string")
    return value


def _url(value: Any, place: str) -> str:
    url = _text(value, place)
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValueError(f"{place} must be an https:// URL")
    return url


def _clients(value: Any, place: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{place} must map client ids to names of services")
    return {client: _text(name, f"{place}/{client}") for client, name in value.items()}
