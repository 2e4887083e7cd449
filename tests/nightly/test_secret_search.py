"""No secret is in the database or in a log, in any form, after every flow that makes or takes one.

Real processes that log everything, a real identity provider, and a dump with pg_dump and of all of Valkey.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from redis import Redis

from controlplane.access.tokens import Prefix, new_token
from controlplane.local import Services
from controlplane.local.binaries import postgres_home
from controlplane.local.programs import free_port, stop_all
from tests.conftest import System, system_environment
from tests.nightly.secret_flows import (
    agents,
    authorization_server,
    console_logins,
    emergency_access,
    identity_provider_login,
    misplaced_secrets,
    personal_tokens,
    provisioning,
    sealed_secrets,
)
from tests.nightly.secret_flows.story import ADMIN, Story
from tests.support.identity_provider import CLIENT, CLIENT_SECRET, IdentityProvider
from tests.support.secret_memory import SecretMemory

FLOWS = (
    console_logins,
    personal_tokens,
    agents,
    authorization_server,
    identity_provider_login,
    emergency_access,
    provisioning,
    sealed_secrets,
    misplaced_secrets,
)
PROVIDERS = """
providers:
  - slug: idp
    issuer: {issuer}
    client_id: {client}
    client_secret: {secret}
    scopes: [openid, profile, email, groups]
"""


@pytest.fixture
def running(
    services: Services, django_db_setup: None, transactional_db: None, tmp_path: Path
) -> Iterator[tuple[System, IdentityProvider]]:
    """The processes with the most talkative logs, and a provider whose people can log in."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    provider = IdentityProvider(tmp_path, controlplane=url)
    (tmp_path / "providers.yaml").write_text(
        PROVIDERS.format(issuer=provider.issuer, client=CLIENT, secret=CLIENT_SECRET)
    )
    (tmp_path / "metrics").mkdir()
    (tmp_path / "logs").mkdir()
    environment = system_environment(services) | {
        "LOG_LEVEL": "DEBUG",
        "PUBLIC_URL": url,
        "LOCAL_LOGIN": "all",
        "SCIM": "on",
        "IDENTITY_PROVIDERS_FILE": str(tmp_path / "providers.yaml"),
        "OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8",
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
    }
    system = System(environment, tmp_path / "logs", port)
    try:
        system.wait_until_ready()
        yield system, provider
    finally:
        stop_all(system.running, patience=5)
        provider.stop()


def test_no_secret_is_stored_or_logged(running: tuple[System, IdentityProvider], services: Services) -> None:
    system, provider = running
    memory = SecretMemory()
    memory.remember("the provider's client secret", CLIENT_SECRET)
    memory.remember("SECRET_KEY", system.environment["SECRET_KEY"])
    story = Story(system, provider, memory, ADMIN, secrets.token_urlsafe(16))

    for flow in FLOWS:
        flow.run(story)
    stop_all(system.running, patience=5)

    texts = {
        **{log.name: log.read_text(errors="replace") for log in sorted(system.folder.glob("*.log"))},
        "the database": dump_of(system.environment["DATABASE_URL"]),
        "Valkey": content_of(system.environment["REDIS_URL"]),
    }
    # The search finds what is there: names are not secret.
    assert ADMIN in texts["the database"]
    assert "request_finished" in texts["web.log"]
    assert len(memory) > 40
    findings = {name: memory.find_in(text) for name, text in texts.items()}
    assert {name: found for name, found in findings.items() if found} == {}


def dump_of(url: str) -> str:
    command = [str(postgres_home() / "bin" / "pg_dump"), "--dbname", url]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout


def content_of(url: str) -> str:
    """Every key and value, as text."""
    client = Redis.from_url(url)
    rows = []
    for key in client.scan_iter():
        kind = client.type(key)
        read = {b"string": client.get, b"hash": client.hgetall, b"set": client.smembers}.get(kind)
        value = (
            read(key) if read else client.execute_command("LRANGE", key, 0, -1) if kind == b"list" else kind
        )
        rows.append(f"{key!r} {value!r}")
    return "\n".join(rows)


def test_the_search_finds_a_secret_in_every_form() -> None:
    memory = SecretMemory()
    secret = memory.remember("a flow", "p/ss w+rd~" + secrets.token_hex(8))
    data = secret.encode()
    forms = [secret, data.hex(), quote(secret, safe=""), quote_plus(secret), b64encode(data).decode()]
    forms += [b64encode(b"user:" + data + b"!").decode(), urlsafe_b64encode(b"ab" + data).decode()]

    assert [form for form in forms if not memory.find_in(f"before {form} after")] == []
    assert memory.find_in(new_token(Prefix.OAUTH))
    assert memory.find_in("nothing of it") == []
