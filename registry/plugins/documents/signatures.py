"""Signatures of artifacts: by Sigstore, or by an Ed25519 key. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from registry.plugins.documents.content import Signature, SignaturePolicy
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_choice, read_members, read_optional, read_text
from registry.plugins.documents.paths import read_relative_path

_FIELDS = ("policy", "type", "path", "identity", "issuer", "publicKey")
_FIELDS_BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "sigstore": ("identity", "issuer"),
    "ed25519": ("publicKey",),
}
_RAW_KEY_BYTES = 32
# Minisign's form: the letters "Ed", a key number of eight bytes, and the key.
_MINISIGN_KEY_BYTES = 2 + 8 + _RAW_KEY_BYTES


def read_signature(node: Node, findings: Findings) -> Signature | None:
    """Read `signature: {policy: off | warn | require, type: sigstore | ed25519, ...}`."""
    members = read_members(node, _FIELDS, findings)
    policy = read_optional(members, "policy", _read_policy, findings) or SignaturePolicy.REQUIRE
    if policy is SignaturePolicy.OFF:
        _refuse_fields(members, _FIELDS[1:], "policy off", findings)
        return Signature(policy)
    signature_type = read_optional(members, "type", _read_type, findings)
    if signature_type is None:
        _require_fields(node, members, ("type",), findings)
        return None
    _check_fields(node, members, signature_type, findings)
    return Signature(
        policy,
        signature_type,
        path=read_optional(members, "path", read_relative_path, findings) or "",
        identity=read_optional(members, "identity", read_text, findings) or "",
        issuer=read_optional(members, "issuer", read_text, findings) or "",
        public_key=read_optional(members, "publicKey", _read_public_key, findings) or "",
    )


def _check_fields(node: Node, members: Mapping[str, Node], signature_type: str, findings: Findings) -> None:
    own = _FIELDS_BY_TYPE[signature_type]
    _require_fields(node, members, own, findings)
    foreign = [name for fields in _FIELDS_BY_TYPE.values() for name in fields if name not in own]
    _refuse_fields(members, foreign, f"type {signature_type}", findings)


def _require_fields(
    node: Node, members: Mapping[str, Node], names: tuple[str, ...], findings: Findings
) -> None:
    for name in names:
        if name not in members:
            findings.error(node.pointer, Code.REQUIRED, f"The field {name!r} is required.")


def _refuse_fields(
    members: Mapping[str, Node], names: list[str] | tuple[str, ...], setting: str, findings: Findings
) -> None:
    for name in names:
        if name in members:
            message = f"A signature with {setting} has no field {name!r}."
            findings.error(members[name].pointer, Code.INVALID_VALUE, message, "Remove it.")


def _read_policy(node: Node, findings: Findings) -> SignaturePolicy | None:
    policy = read_choice(node, [policy.value for policy in SignaturePolicy], findings)
    return SignaturePolicy(policy) if policy else None


def _read_type(node: Node, findings: Findings) -> str | None:
    return read_choice(node, _FIELDS_BY_TYPE, findings)


def _read_public_key(node: Node, findings: Findings) -> str | None:
    text = read_text(node, findings)
    if text is None:
        return None
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) == _RAW_KEY_BYTES or (len(key) == _MINISIGN_KEY_BYTES and key.startswith(b"Ed")):
        return text
    message = "Expected an Ed25519 public key: the Base64 form of its 32 bytes, or a key of minisign."
    findings.error(node.pointer, Code.INVALID_VALUE, message)
    return None
