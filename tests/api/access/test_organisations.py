"""Organisations: one sees nothing of another, by its grants and, beneath them, by row-level security."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from flyteidl.admin import project_pb2 as flyte

from controlplane.access import organisations, principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.access.team_models import Organisation
from controlplane.access.teams.teams import create_team
from controlplane.database.row_security import set_row_security
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.flyte.calls import answer
from overrides.flyte.errors import Code, FlyteError
from tests.api.access.visibility_world import config_text
from tests.support.api_client import ACTOR, Api

CPU = {"attributes": {"defaults": {"cpu": "1"}}}


@pytest.fixture(autouse=True)
def _organisations_are_on(settings: Any) -> None:
    settings.ORGANISATIONS = True


def _made(response: Any) -> None:
    assert response.status_code == 201, response.content


class Tenant:
    """An administrator of an organisation, with a project and a team of its own."""

    def __init__(self, slug: str) -> None:
        organisation = Organisation.objects.create(slug=slug)
        self.slug, self.project, self.team = slug, f"zq{slug}-project", f"zq{slug}-team"
        person = principals.create_principal(
            f"admin-{slug}", kind=PrincipalKind.SERVICE, actor=ACTOR, organisation=organisation
        )
        role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
        _, token = principals.create_token(person, name="t", expires_at=None, actor=ACTOR)
        create_team(self.team, actor=ACTOR, organisation=organisation)
        self.api = Api(token)

    def fill(self) -> None:
        _made(self.api.post("scopes/projects", {"id": self.project}))
        path = f"overrides/task_resource?project={self.project}"
        _made(self.api.put(path, CPU, If_None_Match="*"))

    def __call__(self, path: str) -> Any:
        """Ask as in a transaction of its own: the organisation of the last request does not stay."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.organisation', '', true)")
        return self.api.get(path)


@pytest.fixture
def tenants(db: None) -> tuple[Tenant, Tenant]:
    acme, rival = Tenant("acme"), Tenant("rival")
    for tenant in (acme, rival):
        tenant("me")
        tenant.fill()
    return acme, rival


LISTS = ("scopes/projects", "overrides", "events?limit=200", "audit?limit=200", "me", "guard-rails")


def test_lists_name_only_what_belongs_to_the_organisation(tenants):
    acme, _ = tenants

    for path in LISTS:
        response = acme(path)
        assert response.status_code in (200, 403), path
        assert "zqrival" not in response.content.decode(), path
    assert acme.project in acme("scopes/projects").content.decode()
    assert acme.project in acme("overrides").content.decode()


def test_another_organisations_project_is_refused_like_one_that_does_not_exist(tenants):
    acme, rival = tenants

    for path in (
        "scopes/projects/{}",
        "overrides/effective?project={}",
        "overrides/task_resource?project={}",
    ):
        foreign, absent = acme(path.format(rival.project)), acme(path.format("zqabsent"))
        assert foreign.status_code == absent.status_code
        assert foreign.status_code in (403, 404)
        shown = [json.loads(answer.content)["detail"] for answer in (foreign, absent)]
        assert shown[0].replace(rival.project, "") == shown[1].replace("zqabsent", "")


def test_a_tenant_cannot_change_what_all_organisations_inherit(tenants):
    acme, _ = tenants

    assert acme.api.put("overrides/task_resource", CPU, If_None_Match="*").status_code == 403
    assert acme.api.post("resource-types", {"name": "x"}).status_code == 403
    assert acme.api.post("principals", {"name": "x", "kind": "service"}).status_code == 403


def test_global_values_are_inherited_by_every_organisation(tenants, api):
    acme, _ = tenants
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.organisation', '', true)")
    assert (
        api.put("overrides/execution_queue", {"attributes": {"tags": ["all"]}}, If_None_Match="*").status_code
        == 201
    )

    effective = acme(f"overrides/effective?project={acme.project}")
    assert b'"all"' in effective.content


def test_flyte_clients_get_not_found_for_another_organisation(tenants):
    acme, rival = tenants
    request = flyte.ProjectGetRequest(id=acme.project, org=rival.slug)
    bearer = f"Bearer {acme.api.token}"

    with pytest.raises(FlyteError) as refusal:
        answer("GetProject", request, authorization=bearer, transport="http")
    assert refusal.value.code is Code.NOT_FOUND
    own = flyte.ProjectGetRequest(id=acme.project, org=acme.slug)
    assert answer("GetProject", own, authorization=bearer, transport="http").id == acme.project


def test_an_administrator_of_the_installation_sees_every_organisation(tenants, api):
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.organisation', '', true)")
    text = api.get("scopes/projects").content.decode()
    assert all(tenant.project in text for tenant in tenants)


@pytest.fixture
def _as_web_role(tenants: Any) -> None:
    """The rest of the test runs as a role that owns no table, like that of web servers."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        set_row_security(cursor, is_on=True)
        cursor.execute(
            "CREATE ROLE zq_web; GRANT USAGE ON SCHEMA public TO zq_web;"
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO zq_web;"
            "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO zq_web; SET LOCAL ROLE zq_web"
        )


@pytest.mark.usefixtures("_as_web_role")
def test_row_security_alone_hides_other_organisations(tenants, monkeypatch):
    monkeypatch.setattr(organisations, "confine", lambda grants, tenancy: grants)
    acme, rival = tenants

    for path in (*LISTS, f"scopes/projects/{rival.project}", f"overrides/effective?project={rival.project}"):
        assert "zqrival" not in acme(path).content.decode().replace(f"'{rival.project}'", ""), path
    assert acme.project in acme("scopes/projects").content.decode()


def test_row_security_is_turned_on_once_and_off_again(db):
    with connection.cursor() as cursor:
        for is_on in (True, True, False):
            set_row_security(cursor, is_on=is_on)
            cursor.execute("SELECT relrowsecurity FROM pg_class WHERE relname = 'overrides_project'")
            assert cursor.fetchone()[0] is is_on


@pytest.mark.usefixtures("_as_web_role")
def test_a_bundle_that_a_tenant_changes_keeps_the_documents_of_other_organisations(tenants, api):
    def reset() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.organisation', '', true)")

    reset()
    _made(api.put("data-planes/eu", {}))
    for tenant in tenants:
        reset()
        text = config_text(tenant.team, f"{tenant.slug}_task")
        _made(tenant.api.put(f"agent-configs/{tenant.team}/doc", {"text": text}))
    acme, rival = tenants
    assert acme(f"agent-configs/{rival.team}/doc").status_code == 404
    reset()
    assert rival.api.put(f"agent-configs/{acme.team}/doc", {"text": "x"}).status_code == 404

    reset()
    served = api.get("data-planes/eu/config").content.decode()
    assert "acme_task" in served
    assert "rival_task" in served
