"""Pages of registered clusters: list, register, change, remove."""

from __future__ import annotations

import pytest

from controlplane.access import principals
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.source_models import RegisteredCluster
from tests.support.api_client import ACTOR, logged_in

pytestmark = pytest.mark.django_db
FORM = {
    "name": "eu-prod",
    "principal": "cluster-eu-prod",
    "namespaces": "acme, beta",
    "reason": "New region.",
}


@pytest.fixture
def browser(db):
    principals.create_principal("cluster-eu-prod", kind=PrincipalKind.SERVICE, actor=ACTOR)
    return logged_in("jane", Role.ADMIN)


def text_of(answer) -> str:
    return answer.content.decode()


def test_an_empty_list_says_what_a_cluster_is_with_a_command(browser):
    page = text_of(browser.get("/agent-configs/clusters"))

    assert "No registered clusters" in page
    assert "cpctl agent-configs clusters set eu-prod" in page


def test_a_cluster_is_registered_changed_and_removed(browser):
    assert browser.post("/agent-configs/clusters:new", FORM)["Location"] == "/agent-configs/clusters"
    assert "acme" in text_of(browser.get("/agent-configs/clusters"))
    # Nobody replaces it by registering the same name again, nor with an outdated form.
    assert browser.post("/agent-configs/clusters:new", {**FORM, "namespaces": "*"}).status_code == 412
    outdated = {**FORM, "namespaces": "*", "version": "9"}
    assert browser.post("/agent-configs/clusters/eu-prod", outdated).status_code == 412
    assert RegisteredCluster.objects.get().namespaces == ["acme", "beta"]

    browser.post("/agent-configs/clusters/eu-prod", {**FORM, "namespaces": "acme", "version": "1"})
    assert RegisteredCluster.objects.get().namespaces == ["acme"]

    assert browser.post("/agent-configs/clusters/eu-prod/remove", {})["Location"] == "/agent-configs/clusters"
    assert not RegisteredCluster.objects.exists()


def test_a_cluster_with_documents_is_removed_only_with_their_number(browser):
    browser.post("/agent-configs/clusters:new", FORM)
    AgentConfig.objects.create(source="eu-prod", team="acme", name="spark", text="", digest="")

    assert "Type 1 to confirm" in text_of(browser.get("/agent-configs/clusters/eu-prod/remove"))
    assert browser.post("/agent-configs/clusters/eu-prod/remove", {"documents": "2"}).status_code == 409
    assert RegisteredCluster.objects.exists()
    assert browser.post("/agent-configs/clusters/eu-prod/remove", {"documents": "1"}).status_code == 302
    assert not RegisteredCluster.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"name": "Not A Name"}, {"principal": ""}, {"namespaces": ""}, {"namespaces": "Not A Namespace"}],
)
def test_a_mistake_keeps_the_form(browser, change):
    answer = browser.post("/agent-configs/clusters:new", {**FORM, **change})

    assert answer.status_code in (400, 422)
    assert 'value="New region."' in text_of(answer)
    assert not RegisteredCluster.objects.exists()


def test_only_administrators_register_and_unknown_clusters_are_not_found(browser):
    viewer = logged_in("vera", Role.VIEWER)

    assert "Register cluster" not in text_of(viewer.get("/agent-configs/clusters"))
    for address in ("/agent-configs/clusters:new", "/agent-configs/clusters/eu-prod"):
        assert viewer.post(address, FORM).status_code == 403
    assert browser.get("/agent-configs/clusters/nowhere").status_code == 404
    assert browser.get("/agent-configs/clusters/nowhere/remove").status_code == 404
