"""Change requests in the console: requested in the editor, reviewed in the inbox, published."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.approval_models import ApprovalPolicy, ChangeRequest
from overrides.approvals.changes import create_policy
from overrides.models import Override
from tests.support.api_client import ACTOR, logged_in, make_project

EDIT = "/overrides/workflow_execution_config/edit?project=flytesnacks&domain=production"
FORM = {"text": "max_parallelism: 5", "version": "0", "reason": "Training", "ticket": "ML-1"}


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


@pytest.fixture
def ada() -> Client:
    return logged_in("ada", Role.EDITOR)


@pytest.fixture
def grace() -> Client:
    return logged_in("grace", Role.ADMIN)


def protect(scope: Scope = Scope("production"), approvals: int = 1) -> ApprovalPolicy:
    return create_policy(scope, approvals=approvals, reason="Production", actor=ACTOR)


def requested(browser: Client) -> str:
    answer = browser.post(EDIT, {**FORM, "do": "request"})
    assert answer.status_code == 302, answer.content.decode()
    return answer["Location"]


def text(browser: Client, url: str) -> str:
    return browser.get(url).content.decode()


def test_a_policy_is_set_shown_changed_and_deleted(grace):
    created = grace.post(
        "/approval-policies:create?domain=production", {"approvals": "2", "reason": "Careful"}
    )
    (row,) = ApprovalPolicy.objects.all()

    assert (created.status_code, created["Location"], row.approvals) == (302, "/approval-policies", 2)
    for page in ("/overrides?domain=production", EDIT):
        assert "Changes here need 2 approvals by others." in text(grace, page)
    assert "Changes here need" not in text(grace, "/overrides?domain=staging")
    assert "Careful" in text(grace, "/approval-policies")

    grace.post(f"/approval-policies/{row.id}/edit", {"approvals": "3", "reason": "Careful"})
    assert "Changes here need 3 approvals" in text(grace, EDIT)
    grace.post(f"/approval-policies/{row.id}:delete", {"reason": "Done"})
    assert "Changes here need" not in text(grace, EDIT)


@pytest.mark.parametrize("approvals", ["", "0", "6", "two"])
def test_bad_input_sets_nothing(grace, approvals):
    answer = grace.post("/approval-policies:create", {"approvals": approvals, "reason": "x"})

    assert answer.status_code in (400, 422)
    assert 'value="x"' in answer.content.decode()
    assert not ApprovalPolicy.objects.exists()


def test_the_editor_requests_a_change_and_another_person_approves_it(ada, grace):
    protect()
    preview = ada.post(EDIT, {**FORM, "do": "preview"}).content.decode()
    refused = ada.post(EDIT, {**FORM, "do": "save"})
    url = requested(ada)

    assert "Request change" in preview
    assert "Save override" not in preview
    assert (refused.status_code, Override.objects.count()) == (409, 0)
    assert "Another person must approve" not in text(ada, url)
    assert "Approve change" not in text(ada, url)
    assert "workflow_execution_config" in text(grace, "/change-requests")
    page = text(grace, url)
    assert "Approve change" in page
    assert "<ins>5</ins>" in page
    (row,) = ChangeRequest.objects.all()

    approved = grace.post(url, {"do": "approve", "digest": row.digest, "comment": "Fine"})
    assert (approved.status_code, approved["Location"]) == (302, url)
    assert "Publish change" in text(ada, url)
    assert "Fine" in text(ada, url)
    ada.post(url, {"do": "publish"})

    assert Override.objects.get().attributes == {"max_parallelism": 5}
    assert "No change waits for your approval." in text(grace, "/change-requests")
    assert "ML-1" in text(ada, "/change-requests?view=mine&state=published")


def test_the_author_cannot_approve(grace):
    protect()
    url = requested(grace)
    (row,) = ChangeRequest.objects.all()

    answer = grace.post(url, {"do": "approve", "digest": row.digest, "comment": "Mine"})

    assert answer.status_code == 403
    assert "Ask another person to approve it." in answer.content.decode()
    assert "Another person must approve this change" in text(grace, url)
    assert ">Mine</textarea>" in answer.content.decode()
    assert "No change waits for your approval." in text(grace, "/change-requests")


def test_a_change_is_rejected_with_a_comment_and_only_with_one(ada, grace):
    protect()
    url = requested(ada)

    empty = grace.post(url, {"do": "reject", "comment": " "})
    rejected = grace.post(url, {"do": "reject", "comment": "Too many"})

    assert (empty.status_code, rejected.status_code) == (400, 302)
    page = text(ada, url)
    assert "rejected" in page
    assert "Publish change" not in page
    assert "Withdraw request" not in page


def test_a_removal_is_requested_too(ada, grace):
    grace.post(EDIT, {**FORM, "do": "save"})
    protect()

    preview = ada.post(EDIT, {**FORM, "version": "1", "do": "preview-delete"}).content.decode()
    answer = ada.post(EDIT, {**FORM, "version": "1", "do": "request-delete"})

    assert "Request removal" in preview
    assert answer.status_code == 302
    assert ChangeRequest.objects.get().attributes is None


def test_what_somebody_changed_meanwhile_is_a_conflict_and_an_end_is_refused(ada, grace):
    grace.post(EDIT, {**FORM, "do": "save"})
    protect()

    stale = ada.post(EDIT, {**FORM, "text": "max_parallelism: 6", "do": "request"})
    until = ada.post(
        EDIT,
        {**FORM, "text": "max_parallelism: 6", "version": "1", "until": "2999-01-01T00:00", "do": "request"},
    )

    assert (stale.status_code, until.status_code) == (412, 400)
    assert not ChangeRequest.objects.exists()


def test_a_plan_that_drifted_says_so_and_is_refreshed(ada, grace):
    protect()
    url = requested(ada)
    grace.post(EDIT, {**FORM, "text": "max_parallelism: 7", "do": "save", "approval_override": "Fire"})

    assert "The plan is out of date." in text(ada, url)
    ada.post(url, {"do": "refresh"})
    page = text(ada, url)
    assert "The plan is out of date." not in page
    assert "<del>7</del>" in page


def test_a_bypass_saves_and_only_with_the_permission(ada, grace):
    protect()
    form = {**FORM, "approval_override": "Fire"}

    assert ada.post(EDIT, {**form, "do": "save"}).status_code == 403
    assert "Save override" in grace.post(EDIT, {**form, "do": "preview"}).content.decode()
    assert grace.post(EDIT, {**form, "do": "save"}).status_code == 302
    assert Override.objects.exists()


def test_comments_and_bad_steps(ada, grace):
    protect()
    url = requested(ada)

    assert grace.post(url, {"do": "comment", "comment": "How long?\nReally?"}).status_code == 302
    assert grace.post(url, {"do": "comment", "comment": ""}).status_code == 400
    assert grace.post(url, {"do": "explode"}).status_code == 400
    assert ada.post(url, {"do": "publish"}).status_code == 409
    assert ada.post(url, {"do": "publish", "at": "2020-01-01T00:00"}).status_code == 400
    assert ada.post(url, {"do": "reject", "comment": "No"}).status_code == 403
    assert "How long?\nReally?" in text(ada, url)


def test_a_change_request_of_somebody_else_does_not_exist(ada):
    protect()
    url = requested(ada)
    far = logged_in("far", Role.ADMIN, Scope("", "elsewhere"))

    assert far.get(url).status_code == 404
    assert far.post(url, {"do": "withdraw"}).status_code == 404
    assert "workflow_execution_config" not in text(far, "/change-requests?view=all")
