"""Expiring overrides in the console: saved with an end, explained, and cancelled."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.models import Override
from overrides.resolution.addresses import Address
from overrides.scheduled_models import OverrideChange
from tests.support.api_client import ACTOR, logged_in, make_project

HERE = "project=flytesnacks&domain=production"
EDIT = f"/overrides/workflow_execution_config/edit?{HERE}"
SCOPE = Scope("production", "flytesnacks")
FORM = {"text": "max_parallelism: 8", "version": "1", "do": "save"}


@pytest.fixture(autouse=True)
def _world(db):
    make_project()
    put_override(Address("workflow_execution_config", SCOPE), {"max_parallelism": 4}, actor=ACTOR)


def browser_of(role: Role, scope: Scope = Scope()) -> Client:
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, role, scope, actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client


def test_a_value_is_saved_until_a_time_and_its_page_says_what_follows():
    browser = browser_of(Role.EDITOR)

    saved = browser.post(EDIT, {**FORM, "until": "2999-01-01T00:00", "reason": "Training"})

    assert saved.status_code == 302
    assert Override.objects.get().attributes == {"max_parallelism": 8}
    for scope in (HERE, f"{HERE}&workflow=train"):
        page = browser.get(f"/overrides?{scope}").content.decode()
        assert "max_parallelism</strong>: 8 until 2999-01-01 00:00 UTC, then 4." in page
        assert "by jane: Training" in page
    change = OverrideChange.objects.get()
    browser.post(f"/override-changes/{change.id}:cancel", {"reason": "Longer"})
    assert "until 2999" not in browser.get(f"/overrides?{HERE}").content.decode()


def test_an_end_that_will_be_refused_is_not_promised():
    browser = browser_of(Role.EDITOR)
    browser.post(EDIT, {**FORM, "until": "2999-01-01T00:00"})
    browser.post(EDIT, {**FORM, "text": "max_parallelism: 9", "version": "2"})

    page = browser.get(f"/overrides?{HERE}").content.decode()

    assert "then 4" not in page
    assert "will be refused: the override was changed since." in page


@pytest.mark.parametrize(("until", "status"), [("2020-01-01T00:00", 400), ("soon", 400)])
def test_a_time_that_makes_no_sense_saves_nothing_and_keeps_the_form(until, status):
    answer = browser_of(Role.EDITOR).post(EDIT, {**FORM, "until": until})

    assert answer.status_code in (status, 422)
    assert f'value="{until}"' in answer.content.decode()
    assert Override.objects.get().attributes == {"max_parallelism": 4}


def test_another_version_is_a_conflict_here_too():
    answer = browser_of(Role.EDITOR).post(EDIT, {**FORM, "version": "7", "until": "2999-01-01T00:00"})

    assert answer.status_code == 412
    assert not OverrideChange.objects.exists()


def test_who_may_not_write_there_cannot_cancel():
    browser_of(Role.EDITOR).post(EDIT, {**FORM, "until": "2999-01-01T00:00"})
    change = OverrideChange.objects.get()
    person = principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.VIEWER, Scope(), actor=ACTOR)
    viewer = Client()
    viewer.force_login(person)

    assert viewer.post(f"/override-changes/{change.id}:cancel").status_code == 403
    assert "Cancel change" not in viewer.get(f"/overrides?{HERE}").content.decode()
    change.refresh_from_db()
    assert change.state == "applied"


def test_the_list_has_what_is_pending_with_its_times_and_how_to_cancel_it():
    browser = browser_of(Role.EDITOR)
    assert "No pending changes" in browser.get("/override-changes").content.decode()
    browser.post(EDIT, {**FORM, "until": "2999-01-01T00:00", "reason": "Training"})
    change = OverrideChange.objects.get()

    page = browser.get("/override-changes").content.decode()

    assert "2999-01-01 00:00" in page
    assert f'href="/override-changes/{change.id}:cancel"' in page
    browser.post(f"/override-changes/{change.id}:cancel", {})
    assert "No pending changes" in browser.get("/override-changes").content.decode()
    assert "Training" in browser.get("/override-changes?state=cancelled").content.decode()
    assert "Training" in browser.get("/override-changes?state=all").content.decode()
    assert ":cancel" not in browser.get("/override-changes?state=all").content.decode()


def test_the_list_has_what_its_reader_may_read():
    person = browser_of(Role.EDITOR)
    person.post(EDIT, {**FORM, "until": "2999-01-01T00:00", "reason": "Training"})
    other = logged_in("vera", Role.VIEWER, scope=Scope(project=make_project("other")))

    assert "Training" not in other.get("/override-changes?state=all").content.decode()
