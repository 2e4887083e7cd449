"""Signatures of served configurations: HTTP message signatures (RFC 9421) with Ed25519.

Each key of AGENT_CONFIGS_SIGNING_KEYS signs, so that a new key is known everywhere before the old one goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.encoding import escape_uri_path
from http_message_signatures import ContentDigest, HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519

from controlplane.signing_keys import signing_keys

# Who looks for this tag takes no signature that one of the keys made for another purpose.
TAG = "controlplane-agent-config"
# The path is the request's and names the data plane: neither another's configuration nor an older revision
# can pass for this one.
COVERED = ("@status", '"@path";req', "content-type", "content-digest", "x-config-revision")


@dataclass(frozen=True, slots=True)
class _Request:
    """As the library wants it. Of the URL only the path is signed."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Response:
    headers: dict[str, str]
    request: _Request
    status_code: int = 200


def signature_headers(path: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Signature-Input and Signature (RFC 9421) with one member for each key; nothing without keys.

    path: of the request. headers: of the answer, with all that are COVERED.
    """
    response = _Response(dict(headers), _Request(f"https://controlplane{escape_uri_path(path)}"))
    for key in signing_keys():
        resolver = MappingKeyResolver(public_keys={}, private_keys={key.id: key.private})
        HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=resolver).sign(
            response,
            key_id=key.id,
            label=key.id,
            tag=TAG,
            covered_component_ids=COVERED,
            use_existing_digest=True,
            append_if_signature_exists=True,
        )
    return {name: value for name, value in response.headers.items() if name not in headers}


def digest_headers(body: bytes) -> dict[str, str]:
    """RFC 9530. We send no encoded or partial content, so both are of the same bytes."""
    digest = ContentDigest.create(body)
    return {"Content-Digest": digest, "Repr-Digest": digest}
