"""The page of effective values tells of guard rails and platform defaults."""

import pytest
from django.test import Client

from controlplane.access import principals
from controlplane.access.models import PrincipalKind
from controlplane.access.roles import Role
from controlplane.scopes import Scope
from overrides.addresses import Address
from overrides.editing import put_override
from overrides.platform_defaults import platform_defaults
from overrides.rail_editing import RailWrite, put_rail
from tests.api_client import ACTOR


@pytest.fixture
def browser(db):
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    principals.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def defaults(settings, tmp_path):
    path = tmp_path / "platform.yaml"
    path.write_text("kind: platformDefaults\nspec:\n  workflowExecutionConfig: {maxParallelism: 25}\n")
    settings.PLATFORM_DEFAULTS_PATH = str(path)
    platform_defaults.cache_clear()
    yield
    platform_defaults.cache_clear()


def test_a_value_that_a_guard_rail_refuses_is_struck_through_with_the_reason(browser):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 500}, actor=ACTOR)
    rail = RailWrite(
        "cap", Scope(domain="production"), "workflow_execution_config", "/max_parallelism", {"maximum": 100}
    )
    put_rail(rail, actor=ACTOR, accept_existing=True)

    page = browser.get("/overrides?domain=production").content.decode()

    assert "<s>500</s>" in page
    assert "refused by the guard rail cap: 100 is the most allowed" in page


def test_a_platform_default_is_called_so(browser, defaults):
    page = browser.get("/overrides").content.decode()

    assert "platform default" in page
    assert '<td data-label="Value" class="value">25</td>' in page
