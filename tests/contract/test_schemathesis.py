"""Thousands of generated requests: no server error, no answer that openapi.yaml does not describe."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.media_types import YAML_MEDIA_TYPES
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from controlplane import yaml_text
from controlplane.access.models import RoleBinding, Token
from registry.models import Agent, AgentConfigGrant
from tests.api_client import AGENT, Api, make_principal, make_project, token_for

ROOT = Path(__file__).resolve().parents[2]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]
RAIL = {
    "name": "cpu-cap",
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "64"},
}
CONFIG = """\
plugins:
  agent-service:
    agents:
      acme-sensor: {endpoint: "acme-sensor.acme.svc:8000"}
    supportedTaskTypes: [acme_sensor]
"""
TYPE = {"name": "workflow_priority", "strategy": "merge", "schema": {"type": "object"}}


NAMES = {
    "guard-rails": "cpu-cap",
    "data-planes": "eu",
    "agent-config-bundles": "eu",
    "agent-configs": "agents",
}


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def read_yaml(context, response):
    """An export is a stream of several documents, which the tool's own reader refuses."""
    documents = yaml_text.load_all(response.content.decode())
    return documents[0] if len(documents) == 1 else documents


schema = schemathesis.openapi.from_path(ROOT / "openapi.yaml")


_calls = itertools.count()


@pytest.fixture
def admin_token(live):
    """A token, and objects for generated requests to hit."""
    make_project("flytesnacks")
    token = token_for("admin")
    known = Api(token)
    known.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "1"}}})
    known.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "2"}}}, If_Match='"v1"')
    known.put("guard-rails/cpu-cap", RAIL)
    known.post("resource-types", TYPE)
    known.post("agents", AGENT)
    known.put("data-planes/eu", {})
    known.put("agent-configs/acme/agents", {"text": CONFIG})
    known.put("agent-config-teams/acme", {"publishers": []})
    known.post("agent-config-grants", {"team": "acme", "pattern": "acme_*"})
    make_principal("viewer", name="guest")
    return token


def known_objects(path: str) -> dict[str, str | int]:
    return {
        "team": "acme",
        "grant_id": str(AgentConfigGrant.objects.values_list("id", flat=True).first()),
        "agent_id": str(Agent.objects.get(name="a1").id),
        "resource_type": "workflow_priority" if "resource-types" in path else "task_resource",
        "version": 1,
        "other": 1 if "agent-config-bundles" in path else 2,
        "revision": 1,
        "project": "flytesnacks",
        "domain": "development",
        "name": next((name for part, name in NAMES.items() if part in path), "guest"),
        "token_id": str(Token.objects.filter(principal__name="guest").values_list("id", flat=True).first()),
        "binding_id": str(
            RoleBinding.objects.filter(principal__name="guest").values_list("id", flat=True).first()
        ),
    }


@schema.parametrize()
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_an_operation_answers_as_described(case, live, admin_token):
    if next(_calls) % 2:
        # Every other request is about something that exists: a random id never hits anything.
        known = known_objects(case.path)
        for name in case.path_parameters or {}:
            case.path_parameters[name] = known[name]
    headers = {"Authorization": f"Bearer {admin_token}"}
    case.call_and_validate(base_url=live.url, headers=headers, checks=CHECKS)
