"""Sealed secrets: AES-256-GCM with a key id, for secrets that must be recoverable.

`context` names the place of a secret, such as `identity_provider/<id>/secret`. It is authenticated with the
secret, so that a sealed value is useless in another row or column.
"""

from __future__ import annotations

import binascii
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from controlplane.access.secrets.key_file import current_keys
from controlplane.access.secrets.keys import KeyRing
from controlplane.errors import SecretsUnavailable

_FORMAT = "v1"
_NONCE_BYTES = 12


def seal(plain: bytes, context: str) -> str:
    """Encrypt a secret with the newest key. Raises SecretsUnavailable."""
    return seal_with(current_keys(), plain, context)


def unseal(sealed: str, context: str) -> bytes:
    """Decrypt a sealed secret. Raises SecretsUnavailable if the key is missing or the value was changed."""
    return unseal_with(current_keys(), sealed, context)


def seal_with(ring: KeyRing, plain: bytes, context: str) -> str:
    """Encrypt a secret with the newest key of the ring: `v1.<key id>.<base64url of nonce and ciphertext>`."""
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext = AESGCM(ring.keys[ring.newest]).encrypt(nonce, plain, _bound_to(ring.newest, context))
    return f"{_FORMAT}.{ring.newest}.{urlsafe_b64encode(nonce + ciphertext).decode().rstrip('=')}"


def unseal_with(ring: KeyRing, sealed: str, context: str) -> bytes:
    """Decrypt with the key that the sealed secret names. Raises SecretsUnavailable."""
    key_id, data = _parse(sealed)
    if key_id not in ring.keys:
        raise SecretsUnavailable(
            f"The key {key_id!r} of a stored secret is not in SECRETS_KEY_FILE. Add the key to the file"
            " again, below the newest key, and then run `manage.py rotate_secrets`."
        )
    try:
        cipher = AESGCM(ring.keys[key_id])
        return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], _bound_to(key_id, context))
    except (InvalidTag, ValueError) as error:
        raise SecretsUnavailable(
            f"A stored secret cannot be decrypted with the key {key_id!r}: either the key or the stored"
            " value was changed. Restore the key, or enter the secret again."
        ) from error


def key_id_of(sealed: str) -> str:
    """Return the id of the key with which the secret was sealed. Raises SecretsUnavailable."""
    return _parse(sealed)[0]


def _bound_to(key_id: str, context: str) -> bytes:
    return "\n".join((_FORMAT, key_id, context)).encode()


def _parse(sealed: str) -> tuple[str, bytes]:
    version, _, rest = sealed.partition(".")
    key_id, _, encoded = rest.partition(".")
    try:
        if version == _FORMAT and encoded.isascii():
            return key_id, urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except binascii.Error:
        pass
    raise SecretsUnavailable("A stored secret is damaged or not encrypted. Enter the secret again.")
