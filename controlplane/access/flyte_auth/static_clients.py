"""Upstream's `staticClients`: OAuth clients with bcrypt hashes of their secrets. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from controlplane.access.flyte_auth import yaml_nodes
from controlplane.access.flyte_auth.sections import Findings, InvalidConfiguration, Section
from controlplane.access.flyte_auth.yaml_nodes import Node
from controlplane.errors import MalformedBody

CLIENT_CREDENTIALS = "client_credentials"
GRANTS = (
    "authorization_code",
    "refresh_token",
    CLIENT_CREDENTIALS,
    "urn:ietf:params:oauth:grant-type:device_code",
)
_NEVER = ("implicit", "password")
_ID = re.compile(r"[\x21-\x7e]{1,100}")
_BCRYPT = re.compile(r"\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}")
_LOCATIONS = (
    ("staticClients",),
    ("selfAuthServer", "staticClients"),
    ("appAuth", "selfAuthServer", "staticClients"),
    ("auth", "appAuth", "selfAuthServer", "staticClients"),
    ("configmap", "adminServer", "auth", "appAuth", "selfAuthServer", "staticClients"),
    ("inline", "auth", "appAuth", "selfAuthServer", "staticClients"),
    ("configuration", "inline", "auth", "appAuth", "selfAuthServer", "staticClients"),
)


@dataclass(frozen=True, slots=True)
class StaticClient:
    """A client of upstream's built-in authorization server. secret_hash: bcrypt; empty if public."""

    client_id: str
    is_public: bool
    redirect_uris: tuple[str, ...]
    grant_types: tuple[str, ...]
    scopes: tuple[str, ...]
    audience: tuple[str, ...] = ()
    secret_hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class StaticClients:
    """The clients of a file, and what in it has no effect."""

    clients: tuple[StaticClient, ...] = ()
    warnings: tuple[str, ...] = ()


def parse(text: str, file: str) -> StaticClients:
    """Return the clients of a file with `staticClients`, alone or in upstream's configuration.

    Raises InvalidConfiguration with all mistakes, each with file and line.
    """
    findings = Findings(file)
    try:
        documents = yaml_nodes.parse(text)
    except MalformedBody as error:
        raise InvalidConfiguration(f"{file}: {error.detail}") from error
    node: Node | None = None
    for document in documents:
        for path in _LOCATIONS:
            node = yaml_nodes.merge(node, document.member(*path))
    if node is None:
        raise InvalidConfiguration(f"{file}: there is no `staticClients`.")
    clients = read(Section(node, "staticClients", findings))
    findings.raise_mistakes()
    return StaticClients(clients, findings.all_warnings())


def read(section: Section) -> tuple[StaticClient, ...]:
    """Return the clients of the section, sorted by id. Mistakes are added to the section's findings."""
    clients = [_client(name, each) for name, each in section.sections()]
    seen_ids: set[str] = set()
    for client, (name, each) in zip(clients, section.sections(), strict=True):
        if client.client_id in seen_ids:
            each.findings.reject(each.line, f"`{section.path}.{name}.id` belongs to another client too.")
        seen_ids.add(client.client_id)
    return tuple(sorted(clients, key=lambda client: client.client_id))


def bcrypt_hash(text: str) -> str | None:
    """Return the bcrypt hash in the text, which may be base64 of it; None if there is none."""
    if _BCRYPT.fullmatch(text):
        return text
    try:
        decoded = base64.b64decode(text, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return decoded if _BCRYPT.fullmatch(decoded) else None


def _client(name: str, section: Section) -> StaticClient:
    client_id = section.text("id", name)
    if not _ID.fullmatch(client_id):
        section.findings.reject(
            section.line, f"`{section.path}.id` must have 1 to 100 ASCII characters without spaces."
        )
    is_public = section.flag("public", default=False)
    client = StaticClient(
        client_id,
        is_public,
        section.urls("redirect_uris"),
        _grants(section),
        section.texts("scopes", ("all",)),
        section.texts("audience"),
        _secret_hash(section, is_public=is_public),
    )
    # Tokens are never returned by the authorization endpoint here, whatever the response types.
    section.ignore("response_types")
    section.ignore("rotated_secrets", because="add a second secret with POST /api/v1/oauth-clients.")
    section.warn_of_unknown_keys()
    return client


def _grants(section: Section) -> tuple[str, ...]:
    grants = section.texts("grant_types")
    node = section.node("grant_types")
    for grant in grants:
        if grant in _NEVER:
            section.findings.warn(node.line if node else 0, f"The grant `{grant}` is not supported.")
        elif grant not in GRANTS:
            section.findings.reject(
                node.line if node else 0,
                f"`{section.path}.grant_types` has an unknown grant. Known: {', '.join(GRANTS)}.",
            )
    return tuple(grant for grant in grants if grant in GRANTS)


def _secret_hash(section: Section, *, is_public: bool) -> str:
    node = section.node("client_secret")
    text = section.secret("client_secret")
    if is_public:
        if text and node:
            section.findings.warn(node.line, f"`{section.path}` is public: its secret has no effect.")
        return ""
    secret_hash = bcrypt_hash(text)
    if secret_hash is None:
        section.findings.reject(
            node.line if node else section.line,
            f"`{section.path}.client_secret` must be a bcrypt hash ($2a$…), or its base64.",
        )
    return secret_hash or ""
