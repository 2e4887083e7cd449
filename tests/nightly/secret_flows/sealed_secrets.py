"""Secrets that are stored sealed: the client secret of a provider, and the keys themselves."""

from __future__ import annotations

import secrets
from pathlib import Path

from controlplane.access.login.oidc.models import IdentityProvider
from controlplane.access.secrets.sealing import seal, unseal
from tests.nightly.secret_flows.story import Story


def run(story: Story) -> None:
    secret = story.memory.remember("the secret of a provider", secrets.token_urlsafe(24))
    provider = IdentityProvider(
        slug="other", issuer="https://other.example", client_id="cp", kind="generic", group_claim="groups"
    )
    provider.secret = seal(secret.encode(), provider.secret_context)
    provider.save()
    story.command("rotate_secrets")
    provider.refresh_from_db()
    assert unseal(provider.secret, provider.secret_context).decode() == secret
    import os

    for line in Path(os.environ["SECRETS_KEY_FILE"]).read_text().split():
        story.memory.remember("a sealing key", line.partition(":")[2])
