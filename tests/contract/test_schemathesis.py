"""Thousands of generated requests: no server error, no answer that openapi.yaml does not describe."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api_client import make_project, token_for

ROOT = Path(__file__).resolve().parents[2]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]
schema = schemathesis.openapi.from_path(ROOT / "openapi.yaml")


@pytest.fixture
def admin_token(live):
    make_project("flytesnacks")
    return token_for("admin")


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
    headers = {"Authorization": f"Bearer {admin_token}"}
    case.call_and_validate(base_url=live.url, headers=headers, checks=CHECKS)
