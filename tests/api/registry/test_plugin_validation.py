"""Plugin documents are validated by HTTP: all errors at once, with their places, and nothing is stored."""

from __future__ import annotations

import base64
import json

import pytest

from controlplane.access.models import AuditRecord
from registry.api.plugins.examples import CONFIG, SPEC
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db


def validate(api: Api, kind: str, text: str) -> dict:
    answer = api.post(f"{kind}:validate", {"text": text})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_a_configuration_has_one_normal_form_and_digest(api):
    first = validate(api, "plugin-config", CONFIG)
    assert (first["valid"], first["diagnostics"]) == (True, [])
    again = validate(api, "plugin-config", json.dumps(first["document"]))
    assert (again["document"], again["digest"]) == (first["document"], first["digest"])
    assert len(first["digest"]) == 64


def test_all_mistakes_of_a_configuration_are_named_with_their_places(api):
    text = CONFIG.replace("checksum:", "checksums:").replace("- provider: artifacts", "- provider: other")
    answer = validate(api, "plugin-config", text)
    assert (answer["valid"], answer["document"], answer["digest"]) == (False, None, "")
    codes = {entry["code"]: (entry["line"], entry["hint"]) for entry in answer["diagnostics"]}
    assert codes["unknown_field"] == (11, "Did you mean checksum?")
    assert codes["unknown_provider"][0] == 7


def test_a_secret_is_named_by_its_reference_and_never_shown(api):
    key = base64.b64encode(
        json.dumps({"type": "service_account", "private_key": "hunter2"}).encode()
    ).decode()
    text = CONFIG.replace(
        "  plugins:\n",
        f"  - type: gcs\n    name: bucket\n    bucket: plugins\n    service_account: {key}\n  plugins:\n",
    )
    answer = api.post("plugin-config:validate", {"text": text})
    assert answer.json()["valid"], answer.json()["diagnostics"]
    assert len(answer.json()["secrets"]) == 1
    assert key not in answer.content.decode()
    assert "hunter2" not in answer.content.decode()


def test_specifications_of_both_formats_are_read(api):
    second = validate(api, "plugin-specs", SPEC)
    assert (second["valid"], second["format"], second["name"]) == (True, 2, "bq2bq")
    first = validate(api, "plugin-specs", "name: bq2bq\nplugintype: sink\n")
    assert (first["valid"], first["format"], first["versions"]) == (False, 1, [])
    paths = {entry["path"] for entry in first["diagnostics"]}
    assert "/plugintype" in paths


@pytest.mark.parametrize(
    ("body", "pointer"), [({}, "/text"), ({"text": ""}, "/text"), ({"text": "x", "name": "y"}, "/name")]
)
def test_another_body_is_refused(api, body, pointer):
    answer = api.post("plugin-config:validate", body)
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_anybody_with_a_token_may_ask_and_nothing_is_stored():
    guest = Api(token_for("viewer"))
    assert validate(guest, "plugin-config", CONFIG)["valid"]
    assert Api("").post("plugin-config:validate", {"text": CONFIG}).status_code == 401
    assert not AuditRecord.objects.filter(object_type__startswith="plugin").exists()
