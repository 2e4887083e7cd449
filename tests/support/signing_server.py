"""A web server of its own that signs snapshots, can be stopped, and started again at the same address."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.conftest import as_application
from tests.support.api_client import Api
from tests.support.launcher import Web
from tests.support.waiting import until

SCOPE = {"project": "flytesnacks", "domain": "staging"}
TYPE = "quality_of_service_specification"
_PATH = f"overrides/{TYPE}?project=flytesnacks&domain=staging"


class SigningServer(Web):
    """folder: gets `public.pem`, the key that its snapshots are signed with."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        private = Ed25519PrivateKey.generate()
        key = folder / "key.pem"
        key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        (folder / "public.pem").write_bytes(public_pem(private))
        signing = {"AGENT_CONFIGS_SIGNING_KEYS": str(key)}
        super().__init__({**as_application(environment, "web"), **signing}, folder, workers=1)
        self.wait_until_ready()


def public_pem(private: Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def set_tier(token: str, tier: str) -> None:
    """Set the value that the tests follow. Fails if it is refused: nobody waits for what was not changed."""
    api, body = Api(token), {"attributes": {"tier": tier}}
    answer = api.put(_PATH, body, If_None_Match="*")
    if answer.status_code == 412:
        answer = api.put(_PATH, body, If_Match=f'"{answer.json()["current"]}"')
    assert answer.status_code in (200, 201), answer.content


def change_after_snapshot(folder: Path, token: str, tier: str) -> threading.Thread:
    """Change the value once a program has its first snapshot in `values.json`: machines can be slow."""

    def change() -> None:
        until((folder / "values.json").exists)
        time.sleep(1)  # The program prints what it has.
        set_tier(token, tier)

    thread = threading.Thread(target=change)
    thread.start()
    return thread
