"""What a data plane is given: signed, with a digest, and as soon as it is there."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from registry.agent_configs.delivery.signatures import read_key, signed_text
from registry.agent_configs.reconcile import reconcile
from tests.api.registry.agent_configs.test_agent_configs import published, text
from tests.support.api_client import Api, token_for
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs/guides/signed-configurations.md").read_text()


def key_file(folder: Path, name: str, private=None) -> str:
    private = private or Ed25519PrivateKey.generate()
    path = folder / f"{name}.pem"
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.public.pem").write_bytes(public)
    return str(path)


def signatures_of(answer) -> dict[str, bytes]:
    pairs = re.findall(r"(k[0-9a-f]{16})=:([A-Za-z0-9+/=]+):", answer["X-Config-Signature"])
    return {name: base64.b64decode(value) for name, value in pairs}


@pytest.mark.parametrize("media_type", ["yaml", "json", "configmap"])
def test_every_format_has_the_digest_of_its_bytes_and_no_signature_without_a_key(api, media_type):
    api.put("data-planes/eu-1", {})

    answer = api.get(f"data-planes/eu-1/config?format={media_type}")

    expected = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer["Repr-Digest"] == f"sha-256=:{expected}:"
    assert "X-Config-Signature" not in answer
    assert answer["ETag"] != api.get("data-planes/eu-1/config?format=yaml")["ETag"] or media_type == "yaml"


def test_agents_are_told_which_configuration_their_environment_has(api):
    body = {"service_types": ["vm"], "cost": "low"}
    here, there = (
        api.post(
            "agents", {**body, "name": name, "environment": name, "topic_name": f"dcm.agent.{name}"}
        ).json()["agent_id"]
        for name in ("eu-1", "us-1")
    )
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}

    def delivered(agent: str) -> str:
        reconcile()
        return api.put(f"agents/{agent}/heartbeat", beat).json()["configuration_etag"]

    assert delivered(here) == ""
    plane = api.put("data-planes/eu-1", {})
    published(api)
    first = delivered(here)
    assert api.get("data-planes/eu-1/config", If_None_Match=first).status_code == 304
    published(api, team="beta")

    assert delivered(here) != first
    assert delivered(here) == api.get("data-planes/eu-1/config")["ETag"]
    many = api.post("agents:heartbeat", {"items": [{"agent_id": here, **beat}]}).json()["items"][0]
    assert (
        many["heartbeat"]["configuration_etag"]
        == delivered(here)
        == api.get(f"agents/{here}").json()["configuration_etag"]
    )
    assert delivered(there) == ""
    api.delete("data-planes/eu-1", If_Match=plane["ETag"])
    assert delivered(here) == ""


def test_a_document_that_changes_nothing_leaves_the_etag(api):
    api.put("data-planes/eu-1", {})
    published(api)
    before = api.get("data-planes/eu-1/config")["ETag"]

    same_text = "# the same, in other words\n" + text("acme")
    changed = api.put("agent-configs/acme/agents", {"text": same_text}, If_Match='"v1"')

    assert (changed.status_code, changed["ETag"]) == (200, '"v2"')
    assert api.get("data-planes/eu-1/config")["ETag"] == before
    api.put("agent-configs/acme/agents", {"text": text("acme", "other")}, If_Match='"v2"')
    assert api.get("data-planes/eu-1/config")["ETag"] != before


def test_each_key_signs_the_data_plane_the_revision_and_the_bytes(api, settings, tmp_path):
    old, new = key_file(tmp_path, "old"), key_file(tmp_path, "new")
    settings.AGENT_CONFIGS_SIGNING_KEYS = [old, new]
    api.put("data-planes/eu-1", {})
    published(api)

    answer = api.get("data-planes/eu-1/config")

    signatures = signatures_of(answer)
    assert list(signatures) == [read_key(old).id, read_key(new).id]
    assert answer["X-Config-Revision"] == "2"
    for path in (old, new):
        key = read_key(path)
        public = key.private.public_key()
        public.verify(signatures[key.id], signed_text("eu-1", 2, answer.content))
        for other in (("eu-2", 2, answer.content), ("eu-1", 1, answer.content), ("eu-1", 2, b"")):
            with pytest.raises(InvalidSignature):
                public.verify(signatures[key.id], signed_text(*other))


def test_the_commands_of_the_guide_verify_and_notice_a_changed_byte(api, settings, tmp_path):
    settings.AGENT_CONFIGS_SIGNING_KEYS = [key_file(tmp_path, "old"), key_file(tmp_path, "new")]
    (tmp_path / "new.public.pem").rename(tmp_path / "public.pem")
    (commands,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    api.put("data-planes/eu-1", {})
    answer = api.get("data-planes/eu-1/config")
    headers = "".join(f"{name}: {value}\r\n" for name, value in answer.items())

    def run(body: bytes) -> subprocess.CompletedProcess[str]:
        (tmp_path / "headers").write_text(headers, newline="")
        (tmp_path / "config.yaml").write_bytes(body)
        command = ["bash", "-c", commands]
        return subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)

    assert "Verified Successfully" in run(answer.content).stdout
    assert run(answer.content.replace(b"agent", b"agenT", 1)).returncode != 0


def test_a_key_that_cannot_be_used_stops_the_start_and_not_the_first_answer(settings, tmp_path):
    settings.AGENT_CONFIGS_SIGNING_KEYS = [key_file(tmp_path, "other", X25519PrivateKey.generate())]

    with pytest.raises(SystemCheckError, match="is no Ed25519 key"):
        call_command("check")


def ask(live, token: str, query: str, etag: str) -> tuple[int, bytes, float]:
    headers = {"Authorization": f"Bearer {token}", "If-None-Match": etag}
    began = time.monotonic()
    request = urllib.request.Request(f"{live.url}/api/v1/data-planes/eu-1/config{query}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=25) as answer:
            return answer.status, answer.read(), time.monotonic() - began
    except urllib.error.HTTPError as error:
        with error:
            # What we tell the watchers is not for the client.
            body = b"watch" if "X-Controlplane-Watch" in error.headers else error.read()
            return error.code, body, time.monotonic() - began


def test_waiting_for_a_configuration_ends_with_a_new_one_or_with_its_time(live):
    token = token_for("admin")
    api = Api(token)
    api.put("data-planes/eu-1", {})
    api.put("data-planes/us-1", {"teams": ["nobody"]})
    etag = api.get("data-planes/eu-1/config")["ETag"]

    status, body, seconds = ask(live, token, "?wait=1", etag)
    assert (status, body, 0.8 < seconds < 5) == (304, b"", True)
    assert ask(live, token, "", etag)[2] < 1
    status, _, seconds = ask(live, token, "?wait=20", '"something-else"')
    assert (status, seconds < 2) == (200, True)

    threading.Timer(1.0, lambda: published(api)).start()
    status, body, seconds = ask(live, token, "?wait=20", etag)

    assert (status, b"acme-sensor" in body) == (200, True)
    assert 0.8 < seconds < 10
