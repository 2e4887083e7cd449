"""Kubernetes' webhook as an API server asks it: HTTPS with a certificate of our own, and its own bodies."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from controlplane.local.programs import free_port
from tests.api.registry.agent_configs.test_agent_configs import config_map, published, text
from tests.support.api_client import Api, token_for

NAME = "flyteplugins-agentservice-acme"


@pytest.fixture
def https(live, tmp_path):
    """The same application behind TLS: (URL, the certificate to trust)."""
    key, certificate, port = tmp_path / "key.pem", tmp_path / "cert.pem", free_port()
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    subprocess.run([*make, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    serve = [sys.executable, "-m", "controlplane.serving", "--port", str(port)]
    tls = ["--tls-certificate", str(certificate), "--tls-key", str(key)]
    process = subprocess.Popen([*serve, *tls], env=live.environment)
    try:
        yield f"https://localhost:{port}", certificate
    finally:
        process.terminate()
        process.wait(60)


def review(https, token: str, **request) -> dict:
    """As kube-apiserver sends it, with all that it says besides."""
    url, certificate = https
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    review = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": NAME,
        "namespace": "acme",
        "userInfo": {"username": "ci", "groups": ["system:authenticated"], "extra": {"k": ["v"]}},
        "object": None,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **request,
    }
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": review}
    request = urllib.request.Request(
        f"{url}/api/v1/agent-configs:admit?timeout=3s",
        json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
        },
    )
    trusted = ssl.create_default_context(cafile=certificate)
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10, context=trusted) as answer:
                document = json.loads(answer.read())
            break
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    assert (document["kind"], document["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert document["response"].pop("uid") == review["uid"]
    assert not {"patch", "patchType"} & document["response"].keys()
    return document["response"]


def test_an_api_server_asks_over_https_for_every_operation(live, https):
    token, reader = token_for("admin"), token_for("viewer")
    api = Api(token)
    api.put("data-planes/eu", {})
    published(api, "first", content=text("first", "taken"))
    new, bad = config_map(NAME), config_map(NAME, text().replace("8000", "0"))
    conflicting = config_map(NAME, text(task="taken"))

    created = review(https, reader, operation="CREATE", object=new)
    assert created == {"allowed": True, "warnings": []}
    denied = review(https, reader, operation="CREATE", object=bad)
    assert (denied["allowed"], denied["status"]["code"]) == (False, 422)
    assert [cause["reason"] for cause in denied["status"]["details"]["causes"]] == ["InvalidEndpoint"]
    conflict = review(https, reader, operation="UPDATE", object=conflicting, oldObject=new)
    assert [cause["reason"] for cause in conflict["status"]["details"]["causes"]] == ["TaskTypeConflict"]
    better = config_map(NAME, text(task="taken").replace("8000", "8001"))
    assert review(https, reader, operation="UPDATE", object=better, oldObject=conflicting)["allowed"]
    assert review(https, reader, operation="DELETE", oldObject=new) == {
        "allowed": True,
        "warnings": ["Task type acme_sensor loses its agent acme-sensor."],
    }
    generated = config_map(NAME)
    generated["metadata"] = {"generateName": f"{NAME}-", "namespace": "acme"}
    assert review(https, reader, operation="CREATE", name="", object=generated)["allowed"]
    dry = review(https, reader, operation="CREATE", object=bad, dryRun=True)
    assert not dry["allowed"]
    # Nothing was kept, whoever asked.
    assert api.get("agent-configs").json()["items"][0]["team"] == "first"
    assert len(api.get("agent-configs").json()["items"]) == 1


def test_whoever_does_not_trust_the_certificate_or_has_no_token_learns_nothing(live, https):
    review(https, token_for("viewer"), operation="DELETE", oldObject=config_map(NAME))
    url, _ = https

    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"{url}/api/v1/version", timeout=30)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        review(https, "cp_pat_wrong", operation="DELETE", oldObject=config_map(NAME))
