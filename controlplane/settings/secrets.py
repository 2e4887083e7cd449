"""Encryption of secrets in the database."""

from controlplane.settings import environment as env

__all__ = ["SECRETS_KEY_FILE"]

SECRETS_KEY_FILE = env.text(
    "SECRETS_KEY_FILE",
    default="",
    meaning="File with the keys that encrypt secrets in the database, one per line as"
    " `<key id>:<base64 of 32 bytes>`. The first key encrypts, all keys decrypt. Readable only by the"
    " server's user. Required before anything that contains such a secret can be saved, such as an identity"
    " provider. `manage.py rotate_secrets --new-key FILE` creates a file or adds a key.",
)
