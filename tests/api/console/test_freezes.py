"""Freezes in the console: the banner, the list, declaring, ending, and saving in spite of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.freeze_models import OverrideFreeze
from overrides.freezes.changes import declare_freeze
from overrides.models import Override
from tests.support.api_client import ACTOR, make_project

EDIT = "/overrides/workflow_execution_config/edit?project=flytesnacks&domain=production"


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


def browser_of(role: Role, scope: Scope = Scope()) -> Client:
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, role, scope, actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client


def freeze(scope: Scope) -> OverrideFreeze:
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    return declare_freeze(scope, starts_at=None, ends_at=ends_at, reason="Black Friday", actor=ACTOR)


def test_a_freeze_is_declared_shown_at_its_scopes_and_ended():
    browser = browser_of(Role.ADMIN)
    declared = browser.post(
        "/override-freezes:declare?domain=production", {"ends_at": "2999-01-01T00:00", "reason": "Sale"}
    )
    (row,) = OverrideFreeze.objects.all()

    assert (declared.status_code, declared["Location"]) == (302, "/override-freezes")
    for page in ("/overrides?domain=production", EDIT):
        assert "Overrides are frozen until 2999-01-01 00:00 UTC." in browser.get(page).content.decode()
    assert "frozen until" not in browser.get("/overrides?domain=staging").content.decode()
    assert "Sale" in browser.get("/override-freezes").content.decode()

    browser.post(f"/override-freezes/{row.id}:end", {"reason": "Quiet"})

    assert "frozen until" not in browser.get("/overrides?domain=production").content.decode()
    assert "Sale" not in browser.get("/override-freezes").content.decode()
    assert "by jane" in browser.get("/override-freezes?ended=1").content.decode()


@pytest.mark.parametrize("form", [{"reason": "x"}, {"ends_at": "2020-01-01T00:00", "reason": "x"}])
def test_bad_input_declares_nothing_and_keeps_the_form(form):
    answer = browser_of(Role.ADMIN).post("/override-freezes:declare", form)

    assert answer.status_code in (400, 422)
    assert 'value="x"' in answer.content.decode()
    assert not OverrideFreeze.objects.exists()


def test_a_preview_tells_of_the_freeze_and_a_save_is_refused_without_a_reason():
    freeze(Scope("production"))
    browser = browser_of(Role.ADMIN)
    form = {"text": "max_parallelism: 5", "version": "0"}

    preview = browser.post(EDIT, {**form, "do": "preview"})
    refused = browser.post(EDIT, {**form, "do": "save"})
    saved = browser.post(EDIT, {**form, "do": "save", "override_freeze": "Fire"})

    assert "A freeze refuses this change." in preview.content.decode()
    assert (preview.status_code, refused.status_code, saved.status_code) == (200, 409, 302)
    assert "froze overrides at domain=production" in refused.content.decode()
    assert Override.objects.get().attributes == {"max_parallelism": 5}
    assert AuditRecord.objects.get(action="override_freeze.overridden").reason == "Fire"


def test_who_may_only_edit_can_neither_declare_nor_end_nor_override():
    row = freeze(Scope("production"))
    browser = browser_of(Role.EDITOR, Scope("", "flytesnacks"))
    form = {"text": "max_parallelism: 5", "version": "0", "do": "save", "override_freeze": "Fire"}

    assert browser.get("/override-freezes:declare?project=flytesnacks").status_code == 403
    assert browser.post(f"/override-freezes/{row.id}:end").status_code == 403
    assert browser.post(EDIT, form).status_code == 403
    assert "End freeze" not in browser.get("/override-freezes").content.decode()
    assert not Override.objects.exists()


def test_a_freeze_of_somebody_else_does_not_exist():
    make_project("secret")
    row = freeze(Scope("", "secret"))
    browser = browser_of(Role.ADMIN, Scope("", "flytesnacks"))

    assert browser.get(f"/override-freezes/{row.id}:end").status_code == 404
    assert "Black Friday" not in browser.get("/override-freezes").content.decode()
