"""Authentication at providers, always by reference to a secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from registry.plugins.documents.content import Auth
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_choice, read_members, read_optional, read_text
from registry.plugins.documents.provider_types.provider_type import ProviderType

AUTH_TYPES = ("none", "basic", "bearer", "header", "aws", "gcp")
_REFERENCES = ("secretRef", "env", "file")
_EXTRA_FIELDS = {"basic": "username", "header": "header"}
# Cloud libraries find the credential of the machine, so a reference is optional.
_AMBIENT_TYPES = frozenset({"aws", "gcp"})
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_RESERVED_HEADERS = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "range",
        "te",
        "upgrade",
        "cookie",
        "expect",
    }
)
_SECRET_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._/-]{0,126}[a-z0-9])?")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def read_auth(node: Node, provider_type: ProviderType | None, findings: Findings) -> Auth:
    """Read `auth: {type, secretRef | env | file, header?, username?}`."""
    allowed = ("type", *_REFERENCES, "header", "username")
    members = read_members(node, allowed, findings, required=("type",))
    auth_type = read_optional(members, "type", _read_type, findings)
    values = {name: read_optional(members, name, read_text, findings) or "" for name in allowed[1:]}
    if auth_type is None:
        return Auth()
    _check_type(node.member("type"), auth_type, provider_type, findings)
    _check_references(node, auth_type, [name for name in _REFERENCES if name in members], findings)
    _check_extra_fields(node, auth_type, members, findings)
    _check_forms(members, values, findings)
    return Auth(
        auth_type, values["secretRef"], values["env"], values["file"], values["header"], values["username"]
    )


def _read_type(node: Node, findings: Findings) -> str | None:
    return read_choice(node, AUTH_TYPES, findings)


def _check_type(node: Node, auth_type: str, provider_type: ProviderType | None, findings: Findings) -> None:
    if auth_type != "none" and provider_type is not None and auth_type not in provider_type.auth_types:
        accepted = ", ".join(("none", *provider_type.auth_types))
        message = f"Providers of type {provider_type.name} do not support authentication of type {auth_type}."
        findings.error(node.pointer, Code.INVALID_AUTH, message, f"Use {accepted}.")


def _check_references(node: Node, auth_type: str, present: list[str], findings: Findings) -> None:
    expected = (
        "no" if auth_type == "none" else "at most one" if auth_type in _AMBIENT_TYPES else "exactly one"
    )
    maximum = 0 if auth_type == "none" else 1
    minimum = 1 if expected == "exactly one" else 0
    if not minimum <= len(present) <= maximum:
        message = f"Authentication of type {auth_type} needs {expected} reference: {', '.join(_REFERENCES)}."
        findings.error(node.pointer, Code.INVALID_AUTH, message)


def _check_extra_fields(node: Node, auth_type: str, members: Mapping[str, Node], findings: Findings) -> None:
    expected = _EXTRA_FIELDS.get(auth_type)
    if expected and expected not in members:
        message = f"Authentication of type {auth_type} requires the field {expected!r}."
        findings.error(node.pointer, Code.INVALID_AUTH, message)
    for name in _EXTRA_FIELDS.values():
        if name in members and name != expected:
            message = f"Authentication of type {auth_type} has no field {name!r}."
            findings.error(members[name].pointer, Code.INVALID_AUTH, message, "Remove it.")


def _check_forms(members: Mapping[str, Node], values: Mapping[str, str], findings: Findings) -> None:
    problems = {
        "secretRef": not _SECRET_NAME.fullmatch(values["secretRef"]),
        "env": not _ENV_NAME.fullmatch(values["env"]),
        "file": not values["file"].startswith("/") or ".." in values["file"].split("/"),
        "header": not _TOKEN.fullmatch(values["header"]) or values["header"].lower() in _RESERVED_HEADERS,
        "username": ":" in values["username"],
    }
    forms = {
        "secretRef": "the name of a secret: lower-case letters, digits, '.', '_', '-' and '/'",
        "env": "the name of an environment variable",
        "file": "an absolute path without '..'",
        "header": "the name of a header that carries credentials, such as X-Api-Key",
        "username": "a user name without ':'",
    }
    for name, is_invalid in problems.items():
        if values[name] and is_invalid:
            message = f"The field {name!r} must be {forms[name]}."
            findings.error(members[name].pointer, Code.INVALID_AUTH, message)
