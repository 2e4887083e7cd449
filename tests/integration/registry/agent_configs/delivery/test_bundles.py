"""What a data plane is given: signed, with a digest, and as soon as it is there."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver
from http_message_signatures.algorithms import ED25519

from controlplane.signing_keys import read_key
from registry.agent_configs.delivery.signatures import COVERED, TAG
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


@dataclass
class SignedRequest:
    """As a data plane sees the exchange: what it asked for, and what came."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class SignedResponse:
    headers: dict[str, str]
    content: bytes
    request: SignedRequest
    status_code: int = 200


def fetched(answer, plane: str = "eu-1") -> SignedResponse:
    url = f"https://controlplane.example/api/v1/data-planes/{plane}/config?wait=60"
    return SignedResponse(dict(answer.items()), answer.content, SignedRequest(url))


def verify(response: SignedResponse, path: str, **other) -> str:
    """The revision that the key's signature vouches for. Raises InvalidSignature."""
    key = read_key(path)
    resolver = MappingKeyResolver(public_keys={key.id: key.private.public_key()}, private_keys={})
    verifier = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=resolver)
    expected = {"expect_tag": TAG, "expect_label": key.id, "require_components": COVERED, **other}
    (result,) = verifier.verify(response, body=response.content, **expected)
    assert result.body == response.content
    return result.covered_components['"x-config-revision"']


@pytest.mark.parametrize("media_type", ["yaml", "json", "configmap"])
def test_every_format_has_the_digest_of_its_bytes_and_no_signature_without_a_key(api, media_type):
    api.put("data-planes/eu-1", {})

    answer = api.get(f"data-planes/eu-1/config?format={media_type}")

    expected = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer["Content-Digest"] == answer["Repr-Digest"] == f"sha-256=:{expected}:"
    assert not {"Signature", "Signature-Input"} & set(answer.headers)
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


@pytest.fixture
def signed(api, settings, tmp_path):
    """The answer to eu-1, and the files of the two keys that signed it."""
    keys = [key_file(tmp_path, "old"), key_file(tmp_path, "new")]
    settings.AGENT_CONFIGS_SIGNING_KEYS = keys
    api.put("data-planes/eu-1", {})
    published(api)
    return api.get("data-planes/eu-1/config"), keys


def test_each_key_signs_what_is_served(signed):
    answer, keys = signed

    assert [verify(fetched(answer), path) for path in keys] == ["2", "2"]
    labels = [read_key(path).id for path in keys]
    assert re.findall(r"(k[0-9a-f]{16})=:", answer["Signature"]) == labels
    assert re.findall(r"(k[0-9a-f]{16})=\(", answer["Signature-Input"]) == labels


@pytest.mark.parametrize("wanted", ["yaml", "json", "configmap"])
def test_every_format_is_signed(api, signed, wanted):
    answer = api.get(f"data-planes/eu-1/config?format={wanted}")

    assert verify(fetched(answer), signed[1][0]) == "2"


@pytest.mark.parametrize(
    "changes",
    [
        {"X-Config-Revision": "1"},
        {"Content-Type": "application/json"},
        {"Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(b'').digest()).decode()}:"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_changed_header_is_noticed(signed, changes):
    answer, keys = signed
    response = fetched(answer)
    response.headers |= changes

    with pytest.raises(InvalidSignature):
        verify(response, keys[0])


def test_what_belongs_to_another_data_plane_status_body_key_or_time_is_refused(signed, tmp_path):
    answer, keys = signed
    changed_body = replace(fetched(answer), content=answer.content.replace(b"agent", b"agenT", 1))
    other_key = key_file(tmp_path, "other")
    renamed = replace(
        fetched(answer),
        headers={
            name: value.replace(read_key(keys[0]).id, read_key(other_key).id)
            for name, value in answer.items()
        },
    )

    for response, path in (
        (fetched(answer, "eu-2"), keys[0]),
        (replace(fetched(answer), status_code=203), keys[0]),
        (changed_body, keys[0]),
        (renamed, other_key),
    ):
        with pytest.raises(InvalidSignature):
            verify(response, path)
    # Older than that is everything that was signed by now.
    with pytest.raises(InvalidSignature, match="maximum allowable age"):
        verify(fetched(answer), keys[0], max_age=timedelta(seconds=-10))


class Replaying:
    """A server that sends an answer again, with another body if it is told."""

    def __init__(self, answer) -> None:
        self.body = answer.content
        replaying = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                for name, value in answer.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(replaying.body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def test_the_program_of_the_guide_verifies_and_notices_a_changed_byte(signed, tmp_path):
    answer, _ = signed
    (tmp_path / "new.public.pem").rename(tmp_path / "public.pem")
    (command,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    key_id = subprocess.check_output(["bash", "-c", command], cwd=tmp_path, text=True).strip()
    replaying = Replaying(answer)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            cwd=tmp_path,
            env={"SERVER": replaying.url, "TOKEN": "any", "KEY_ID": key_id},
            capture_output=True,
            text=True,
        )

    assert (run().stdout, (tmp_path / "config.yaml").read_bytes()) == ("2\n", answer.content)
    (tmp_path / "config.yaml").unlink()
    replaying.body = answer.content.replace(b"agent", b"agenT", 1)
    assert "Content-Digest does not match" in run().stderr
    assert not (tmp_path / "config.yaml").exists()
    replaying.server.shutdown()
    replaying.server.server_close()


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
    assert (status, body, 0.8 < seconds < 15) == (304, b"", True)
    assert ask(live, token, "", etag)[2] < 15
    status, _, seconds = ask(live, token, "?wait=20", '"something-else"')
    assert (status, seconds < 15) == (200, True)

    threading.Timer(1.0, lambda: published(api)).start()
    status, body, seconds = ask(live, token, "?wait=20", etag)

    assert (status, b"acme-sensor" in body) == (200, True)
    assert 0.8 < seconds < 15
