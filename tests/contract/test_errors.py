"""The contract of errors: every one has a status, a stable code and a place in the docs."""

from __future__ import annotations

import inspect

import pytest
from django.test import Client
from rest_framework import exceptions

from controlplane import errors
from controlplane.api.problem_types import EXPLANATIONS
from controlplane.api.problems import STATUS_BY_ERROR, problem_response, server_error
from controlplane.web import refusals

CLASSES = [
    member
    for _, member in inspect.getmembers(errors, inspect.isclass)
    if issubclass(member, errors.ControlplaneError) and member is not errors.ControlplaneError
]
# Part of the API: a code may be added, never renamed or removed.
CODES = {
    "change_frozen",
    "confirmation_required",
    "guard_rail_broken",
    "invalid_agent_config",
    "limit_reached",
    "quota_exceeded",
    "unknown_agent_config",
    "unknown_agent_config_cluster",
    "unknown_bundle",
    "unknown_data_plane",
    "unknown_grant",
    "unknown_team",
    "unknown_organisation",
    "unknown_role",
    "unknown_member",
    "built_in_role",
    "organisations_off",
    "inherited_conflict",
    "invalid_type_definition",
    "level_not_allowed",
    "managed_elsewhere",
    "patch_failed",
    "remote_failed",
    "service_type_taken",
    "source_is_read_only",
    "still_in_use",
    "unknown_guard_rail",
    "unknown_override_freeze",
    "unknown_override_change",
    "unknown_agent_bulk_change",
    "unknown_operation",
    "approval_required",
    "plan_drifted",
    "not_independent",
    "unknown_approval_policy",
    "unknown_change_request",
    "unknown_version",
    "body_too_large",
    "conflict",
    "duplicate_instance",
    "idempotency_key_in_flight",
    "idempotency_key_reused",
    "delivery_loop",
    "release_not_usable",
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
    "unknown_dead_letter",
    "unknown_resource",
    "unknown_resource_type",
    "unknown_role_binding",
    "unknown_oauth_client",
    "unknown_client_secret",
    "unknown_device",
    "unknown_token",
    "unknown_trusted_issuer",
    "unknown_sink",
    "unknown_delivery",
    "unknown_pool",
    "unknown_lease",
    "unknown_pool_limit",
    "pool_exhausted",
    "token_in_use",
    "lease_lost",
    "unknown_plugin_config",
    "unknown_plugin",
    "unknown_plugin_release",
    "unknown_plugin_secret",
    "unknown_plugin_artifact",
    "unknown_job",
    "unknown_job_run",
    "unknown_job_secret",
    "unknown_event_type",
    "unknown_notification_rule",
    "unknown_notification_channel",
    "unknown_alert",
    "issuer_unavailable",
    "secrets_unavailable",
    "insufficient_user_authentication",
    "login_refused",
    "too_many_groups",
    "redirect_not_allowed",
    "invalid_identity_provider",
    "setting_is_read_only",
    "unknown_identity",
    "unknown_identity_provider",
    "version_mismatch",
    "version_required",
}


@pytest.mark.parametrize("error_class", CLASSES, ids=lambda error_class: error_class.__name__)
def test_every_error_has_a_status_and_a_code_of_its_own(error_class):
    assert error_class in STATUS_BY_ERROR
    # 503: the caller did nothing wrong.
    assert 400 <= STATUS_BY_ERROR[error_class] < 500 or STATUS_BY_ERROR[error_class] == 503
    assert error_class.title


def test_no_code_is_renamed_or_used_twice():
    assert {error_class.code for error_class in CLASSES} == CODES
    assert len(CLASSES) == len(CODES)


# What the framework raises before a view of ours runs.
FRAMEWORK = [
    exceptions.NotAuthenticated,
    exceptions.PermissionDenied,
    exceptions.NotFound,
    exceptions.NotAcceptable,
    exceptions.Throttled,
    exceptions.ParseError,
]


@pytest.mark.parametrize("code", sorted(EXPLANATIONS))
@pytest.mark.parametrize("accepted", ["*/*", "text/html,application/xhtml+xml"])
def test_the_type_of_a_problem_is_a_page_for_everybody(code, accepted):
    answer = Client().get(f"/problems/{code}", headers={"Accept": accepted})

    assert answer.status_code == 200
    if accepted == "*/*":
        explained = answer.json()
        assert (explained["type"], explained["code"]) == (f"/problems/{code}", code)
        assert 400 <= explained["status"] < 600
        assert explained["title"]
        assert len(explained["meaning"]) > 20
        assert len(explained["next_step"]) > 10
    else:
        assert answer["Content-Type"].startswith("text/html")
        assert f"<code>{code}</code>" in answer.content.decode()


def test_every_code_has_a_page_and_no_page_is_for_nothing():
    answered = [problem_response(exception_class(), {}).data["code"] for exception_class in FRAMEWORK]
    answered += [problem_response(exceptions.MethodNotAllowed("GET"), {}).data["code"]]
    answered += [problem_response(exceptions.UnsupportedMediaType("text/plain"), {}).data["code"]]
    answered += ["internal_error", "database_unavailable", "read_only", "outcome_unknown", *refusals.CODES]

    assert CODES | set(answered) == set(EXPLANATIONS)


def test_all_codes_are_listed():
    listed = Client().get("/problems").json()["items"]

    assert {problem["code"] for problem in listed} == set(EXPLANATIONS)
    assert Client().get("/problems", headers={"Accept": "text/html"}).status_code == 200


def test_an_unknown_code_is_a_problem_itself():
    answer = Client().get("/problems/nonsense")

    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not_found")


def test_the_answer_to_a_bug_has_a_code_with_a_page(rf):
    assert b'"/problems/internal_error"' in server_error(rf.get("/")).content
