"""The contract of errors: every one has a status, a stable code and a place in the docs."""

from __future__ import annotations

import inspect

import pytest

from controlplane import errors
from controlplane.api.problems import STATUS_BY_ERROR

CLASSES = [
    one
    for _, one in inspect.getmembers(errors, inspect.isclass)
    if issubclass(one, errors.ControlplaneError) and one is not errors.ControlplaneError
]
# Part of the API: a code may be added, never renamed or removed.
CODES = {
    "confirmation_required",
    "guard_rail_broken",
    "invalid_agent_config",
    "limit_reached",
    "unknown_agent_config",
    "unknown_bundle",
    "unknown_data_plane",
    "unknown_grant",
    "unknown_team",
    "inherited_conflict",
    "invalid_type_definition",
    "level_not_allowed",
    "managed_elsewhere",
    "remote_failed",
    "service_type_taken",
    "source_is_read_only",
    "still_in_use",
    "unknown_guard_rail",
    "unknown_version",
    "body_too_large",
    "conflict",
    "idempotency_key_in_flight",
    "idempotency_key_reused",
    "insecure_transport",
    "invalid_attributes",
    "invalid_cursor",
    "invalid_provider",
    "invalid_request",
    "invalid_scope",
    "last_administrator",
    "malformed_body",
    "name_taken",
    "not_authenticated",
    "not_found",
    "permission_denied",
    "events_gone",
    "agent_retired",
    "unknown_join_token",
    "too_many_attempts",
    "unknown_agent",
    "unknown_domain",
    "unknown_environment",
    "unknown_override",
    "unknown_principal",
    "unknown_provider",
    "unknown_task_type",
    "unknown_project",
    "unknown_resource_type",
    "unknown_role_binding",
    "unknown_token",
    "version_mismatch",
    "version_required",
}


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_every_error_has_a_status_and_a_code_of_its_own(one):
    assert one in STATUS_BY_ERROR
    assert 400 <= STATUS_BY_ERROR[one] < 500
    assert one.title


def test_no_code_is_renamed_or_used_twice():
    assert {one.code for one in CLASSES} == CODES
    assert len(CLASSES) == len(CODES)
