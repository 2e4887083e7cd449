"""The page of pod previews: the pod with its sources, and mistakes beside their fields."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.overrides.pod_form import EXAMPLE
from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.resolution.addresses import Address
from tests.api.overrides.test_pod_preview import apply
from tests.support.api_client import ACTOR, make_project

PATH = "/overrides/pod-preview"


def browser_of(scope: Scope) -> Client:
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.VIEWER, scope, actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def browser(db):
    return browser_of(Scope())


def shown(response: Any) -> str:
    return unescape(response.content.decode())


def test_the_example_becomes_a_pod_with_the_override_that_set_each_value(api, browser):
    make_project()
    apply(api, "k8s_plugin")
    scope = Scope(project="flytesnacks")
    put_override(Address("k8s_plugin", scope), {"default_annotations": {"cost": "shop"}}, actor=ACTOR)
    start = shown(browser.get(f"{PATH}?example=1&project=flytesnacks"))
    assert EXAMPLE["task"] in start
    assert '<option value="flytesnacks" selected>' in start

    page = shown(browser.post(PATH, {**EXAMPLE, "project": "flytesnacks"}))

    assert "imagePullPolicy: Always" in page
    assert "PodTemplate <code>flyte/flyte-default</code>" in page
    assert "/overrides/k8s_plugin/history?project=flytesnacks" in page
    assert ">project=flytesnacks, v1</a>" in page


def test_an_empty_form_says_how_to_start(browser):
    page = shown(browser.get(PATH))
    assert "No preview yet" in page
    assert "?example=1" in page


@pytest.mark.parametrize(
    ("form", "field", "message"),
    [
        ({"task": "container: ["}, "task", "Invalid YAML"),
        ({"task": ""}, "task", "Write one document"),
        ({"task": "labels: {}"}, "task", "either `container` or `pod_spec`"),
        ({"task": "containr: {}"}, "task", "Unknown name 'containr'"),
        ({"pod_templates": "kind: PodTemplate"}, "pod_templates", "metadata"),
    ],
)
def test_a_mistake_is_shown_at_its_field(browser, form, field, message):
    response = browser.post(PATH, {**EXAMPLE, **form})

    assert response.status_code in (400, 422)
    (_, _, after) = shown(response).partition(f'id="error-{field}"')
    assert message in after.partition("</p>")[0]
    assert form.get("task", EXAMPLE["task"]) in shown(response)


def test_a_task_that_flyte_would_fail_is_told_why(browser):
    page = shown(browser.post(PATH, {**EXAMPLE, "pod_templates": ""}))
    assert "No pod." in page
    assert "'flyte-default'" in page


def test_only_scopes_that_the_caller_may_read(db):
    make_project()
    make_project("billing")
    browser = browser_of(Scope(project="flytesnacks"))

    assert browser.post(PATH, {**EXAMPLE, "project": "flytesnacks"}).status_code == 200
    assert browser.post(PATH, {**EXAMPLE, "project": "billing"}).status_code == 403
