"""Thousands of generated requests: no server error, no answer that openapi.yaml does not describe."""

from __future__ import annotations

import itertools
import os
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from django.test import TransactionTestCase
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.media_types import YAML_MEDIA_TYPES
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from controlplane.access.models import RoleBinding, Token
from controlplane.formats import strict_yaml
from registry.agent_configs.models import AgentConfigGrant
from registry.joining.models import JoinToken
from tests.support.api_client import AGENT, Api, make_principal, make_project, token_for
from tests.support.openapi import openapi_document

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
PROVIDER = {"name": "p", "endpoint": "http://p:1", "service_type": "vm", "schema_version": "v1"}
CONFIG = """\
plugins:
  agent-service:
    agents:
      acme-sensor: {endpoint: "acme-sensor.acme.svc:8000"}
    supportedTaskTypes: [acme_sensor]
"""
TYPE = {"name": "workflow_priority", "strategy": "merge", "schema": {"type": "object"}}


NAMES = {
    "task-types": "spark",
    "guard-rails": "cpu-cap",
    "data-planes": "eu",
    "agent-config-bundles": "eu",
    "agent-configs": "agents",
}


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def read_yaml(context, response):
    """An export is a stream of several documents, which the tool's own reader refuses."""
    documents = strict_yaml.load_all(response.content.decode())
    return documents[0] if len(documents) == 1 else documents


# By day, an operation gets the examples of openapi.yaml and a few requests. By night, GENERATED_EXAMPLES is
# greater, with requests that try each limit of each field.
EXAMPLES = int(os.environ.get("GENERATED_EXAMPLES", "2"))
schema = schemathesis.openapi.from_dict(deepcopy(openapi_document()))
# Each of its answers goes on for ever. tests/integration/overrides/api/effective/watching looks at them.
schema = schema.exclude(operation_id="overrides_effective_stream")
schema.config.phases.coverage.enabled = EXAMPLES > 2

_calls = itertools.count()


@pytest.fixture(scope="module")
def transactional_db(django_db_setup, django_db_blocker):
    """One database for all operations: to empty it after each takes longer than their requests."""
    with django_db_blocker.unblock():
        yield
        TransactionTestCase._fixture_teardown(None)


@pytest.fixture(scope="module")
def admin_token(transactional_db):
    """A token, and objects for generated requests to hit."""
    make_project("flytesnacks")
    token = token_for("admin")
    api = Api(token)
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "1"}}})
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "2"}}}, If_Match='"v1"')
    api.put("guard-rails/cpu-cap", RAIL)
    api.post("resource-types", TYPE)
    api.put("data-planes/eu", {})
    api.put("agent-configs/acme/agents", {"text": CONFIG})
    api.put("agent-config-teams/acme", {"publishers": []})
    api.post("agent-config-grants", {"team": "acme", "pattern": "acme_*"})
    make_principal("viewer", name="guest")
    return token


def _of_tokens(path: str) -> Any:
    return JoinToken.objects.all() if "join" in path else Token.objects.filter(principal__name="guest")


def known_objects(path: str, token: str) -> dict[str, str | int]:
    # Again each time: what is generated also removes it.
    agent = Api(token).post("agents", {**AGENT, "task_types": [{"name": "spark"}]}).json()
    Api(token).post(f"agents/{agent['agent_id']}/providers?id=p1", PROVIDER)
    return {
        "team": "acme",
        "grant_id": str(AgentConfigGrant.objects.values_list("id", flat=True).first()),
        "agent_id": agent["agent_id"],
        "resource_type": "workflow_priority" if "resource-types" in path else "task_resource",
        "version": 1,
        "other": 1 if "agent-config-bundles" in path else 2,
        "revision": 1,
        "project": "flytesnacks",
        "domain": "development",
        "name": next((name for part, name in NAMES.items() if part in path), "guest"),
        "provider_id": "p1",
        "token_id": str(_of_tokens(path).values_list("id", flat=True).first()),
        "binding_id": str(
            RoleBinding.objects.filter(principal__name="guest").values_list("id", flat=True).first()
        ),
    }


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_an_operation_answers_as_described(case, live, admin_token):
    if next(_calls) % 2:
        # Every other request is about something that exists: a random id never hits anything.
        objects = known_objects(case.path, admin_token)
        for name, generated in list((case.path_parameters or {}).items()):
            case.path_parameters[name] = objects.get(name, generated)
    headers = {"Authorization": f"Bearer {admin_token}"}
    if case.path.endswith("/events"):
        # A stream has no end, and waiting proves nothing here: test_watching_events.py does.
        headers["Accept"] = "application/json"
    if case.path.endswith(("/events", "/config", "/requests")):
        case.query = {**(case.query or {}), "wait": 0}
    case.call_and_validate(base_url=live.url, headers=headers, checks=CHECKS)
