"""Pages about access and records: tokens, roles, join tokens, audit log, events, environments."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.records import changes
from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, PrincipalKind, RoleBinding, Token
from controlplane.access.tokens import digest
from controlplane.demo.seed import seed
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent
from registry.joining.models import JoinToken
from registry.providers.models import Provider
from tests.support.api_client import ACTOR, Api, logged_in


@pytest.fixture
def browser(db):
    return logged_in("jane", Role.ADMIN)


def text_of(answer):
    return answer.content.decode()


def secret_in(answer):
    return re.search(r'class="secret">([^<]+)<', text_of(answer))[1]


def test_a_token_is_shown_once_and_works_until_it_is_revoked(browser):
    made = browser.post("/tokens", {"name": "laptop", "days": "30"})
    secret = secret_in(made)
    token = Token.objects.get(name="laptop")

    assert made["Cache-Control"] == "no-store"
    assert bytes(token.digest) == digest(secret)
    assert timedelta(29) < token.expires_at - timezone.now() < timedelta(31)
    assert secret not in text_of(browser.get("/tokens"))
    assert Api(secret).get("me").json()["name"] == "jane"

    browser.post(f"/tokens/{token.id}/revoke", {})

    assert Api(secret).get("me").status_code == 401


def test_an_administrator_makes_tokens_of_services_and_others_do_not(browser):
    principals.create_principal("ci", kind=PrincipalKind.SERVICE, actor=ACTOR)
    editor = logged_in("eve", Role.EDITOR)

    made = browser.post("/tokens?principal=ci", {"name": "deploy", "days": "never"})
    token = Token.objects.get(name="deploy")

    assert Api(secret_in(made)).get("me").json()["name"] == "ci"
    assert token.expires_at is None
    assert editor.get("/tokens?principal=ci").status_code == 403
    assert editor.post("/tokens?principal=ci", {"name": "x", "days": "1"}).status_code == 403
    assert editor.get(f"/tokens/{token.id}/revoke").status_code == 404
    assert editor.post(f"/tokens/{token.id}/revoke", {}).status_code == 404
    assert "laptop" in text_of(editor.post("/tokens", {"name": "laptop", "days": "1"}))


def test_a_token_needs_a_name_that_can_be_shown(browser):
    for name in ("", "a\x00b", "x" * 64):
        assert browser.post("/tokens", {"name": name, "days": "1"}).status_code == 400
    assert not Token.objects.exists()


def test_a_role_is_given_at_a_scope_and_taken_away(browser):
    principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    body = {"holder": "joe", "role": "editor", "domain": "production"}

    response = browser.post("/role-bindings", body)
    twice = browser.post("/role-bindings", body)
    binding = RoleBinding.objects.get(principal__name="joe")

    assert response["Location"] == "/role-bindings?principal=joe"
    assert twice.status_code == 409
    assert (binding.role, binding.scope) == ("editor", Scope(domain="production"))
    asked = text_of(browser.get(f"/role-bindings/{binding.id}/remove"))
    assert "Permissions lost immediately: " in asked
    assert "override.write" in asked
    browser.post(f"/role-bindings/{binding.id}/remove", {})
    assert not RoleBinding.objects.filter(principal__name="joe").exists()


def test_what_another_role_allows_as_well_is_not_called_lost(browser):
    joe = principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(joe, Role.EDITOR, Scope(), actor=ACTOR)
    small = role_bindings.bind_role(joe, Role.VIEWER, Scope(project="ads"), actor=ACTOR)

    assert "No permission is lost" in text_of(browser.get(f"/role-bindings/{small.id}/remove"))


def test_the_last_administrator_stays(browser):
    last = RoleBinding.objects.get(principal__name="jane")

    answer = browser.post(f"/role-bindings/{last.id}/remove", {})

    assert answer.status_code == 409
    assert RoleBinding.objects.filter(id=last.id).exists()


@pytest.mark.parametrize("page", ["/role-bindings", "/join-tokens", "/audit"])
def test_who_does_not_administer_access_is_told_so(browser, page):
    answer = logged_in("eve", Role.EDITOR).get(page)

    assert answer.status_code == 403
    assert "requires one of the roles" in text_of(answer)


def test_a_join_token_is_made_shown_once_and_revoked(browser):
    body = {
        "name": "eu",
        "name_pattern": "prod-eu-*",
        "service_types": "vm, container",
        "uses": "3",
        "hours": "2",
        "needs_approval": "on",
    }

    made = browser.post("/join-tokens", body)
    token = JoinToken.objects.get()

    assert bytes(token.digest) == digest(secret_in(made))
    assert (token.uses_left, token.service_types, token.needs_approval, token.may_take_over) == (
        3,
        ["container", "vm"],
        True,
        False,
    )
    assert timedelta(hours=1) < token.expires_at - timezone.now() < timedelta(hours=3)
    browser.post(f"/join-tokens/{token.id}/revoke", {"reason": "Leaked."})
    token.refresh_from_db()
    assert token.revoked_at
    assert AuditRecord.objects.filter(object_id=str(token.id), reason="Leaked.").exists()


def test_a_join_token_that_cannot_be_made_keeps_what_was_typed(browser):
    answer = browser.post(
        "/join-tokens", {"name": "eu", "name_pattern": "prod-*", "uses": "many", "hours": "1"}
    )

    assert answer.status_code == 400
    assert 'value="prod-*"' in text_of(answer)
    assert not JoinToken.objects.exists()


def test_the_audit_log_tells_before_and_after_and_keeps_to_its_filters(browser):
    principals.create_principal("ci", kind=PrincipalKind.SERVICE, actor=ACTOR)
    principals.set_active("ci", is_active=False, actor=ACTOR)

    page = text_of(browser.get("/audit?object_type=principal&object_id=ci"))

    assert "<del>true</del><ins>false</ins>" in page
    assert "role_binding" not in page.split("<tbody>")[1]
    assert "match these filters" in text_of(browser.get("/audit?actor=nobody"))
    assert "match these filters" in text_of(browser.get("/audit?project=nowhere&domain=production"))
    assert "match these filters" in text_of(browser.get("/audit?actor=%00"))


def test_the_audit_log_names_objects_and_shows_few_changes_at_once(browser, api):
    seed()
    agent = Agent.objects.get(name="prod-eu-1")
    assert api.post(f"agents/{agent.id}:drain", {"reason": "Kernel update."}).status_code == 200
    person = principals.create_principal("eve", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.VIEWER, Scope(project="flytesnacks"), actor=ACTOR)
    named = {"object_type": "agent", "object_id": str(agent.id), "request_id": "r-without-a-name"}
    AuditRecord.objects.create(actor="tests", action="agent.draining", after={"lag": 1}, **named)

    page = text_of(browser.get("/audit")).split("<tbody>")[1]

    link = f'<a href="/agents/{agent.id}" title="{agent.id}">prod-eu-1</a>'
    assert link in page
    # A record without a name has the present one.
    assert link in text_of(browser.get("/audit?request_id=r-without-a-name"))
    assert ">viewer of eve</a>" in page
    drained = next(row for row in page.split("<tr>") if "agent.changed" in row)
    assert "Kernel update." in drained.split("<details>")[0]


def test_the_audit_log_is_exported_as_it_is_filtered(browser):
    actor = Actor(None, "tests", reason="=HYPERLINK(1)")
    principals.create_principal("ci", kind=PrincipalKind.SERVICE, actor=actor)

    as_csv = browser.get("/audit/export?format=csv&object_type=principal&object_id=ci")
    (row,) = csv.DictReader(io.StringIO(text_of(as_csv)))
    (line,) = text_of(browser.get("/audit/export?object_type=principal&object_id=ci")).splitlines()

    assert as_csv["Content-Disposition"] == 'attachment; filename="audit.csv"'
    assert (row["actor"], row["before"], json.loads(row["after"])["name"]) == ("tests", "", "ci")
    # A spreadsheet would run it.
    assert row["reason"] == "'=HYPERLINK(1)"
    assert json.loads(line)["reason"] == "=HYPERLINK(1)"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", row["at"])
    assert logged_in("eve", Role.EDITOR).get("/audit/export").status_code == 403


def test_who_reads_one_project_sees_its_events_alone(browser, api):
    api.post("scopes/projects", {"id": "ads"})
    api.post("scopes/projects", {"id": "maps"})
    viewer = logged_in("vera", Role.VIEWER, Scope(project="ads"))

    page = text_of(viewer.get("/events?type=project.created"))

    assert ">ads<" in page
    assert "maps" not in page.split("<tbody>")[1]


def test_events_go_on_where_the_page_ends(browser, api):
    api.post("scopes/projects", {"id": "ads"})
    page = text_of(browser.get("/events?type=project.created"))
    newest = int(re.search(r"after event (\d+)", page)[1])
    api.post("scopes/projects", {"id": "maps"})

    missed = api.get(f"events?after={newest}&type=project.created").json()["items"]

    assert f"events?after={newest}&amp;type=project.created" in page
    assert f"cpctl events --watch --after {newest} --type project.created" in page
    assert [event["object_id"] for event in missed] == ["maps"]
    assert 'data-live=""' in page


def test_environments_tell_what_is_served_and_by_how_many(browser):
    seed()
    agent = Agent.objects.get(name="prod-eu-1")
    now = timezone.now()
    Provider.objects.create(
        agent=agent,
        provider_id="p1",
        name="p1",
        service_type="vm",
        endpoint="http://x",
        schema_version="v1",
        kind="static",
        state="ready",
        state_reason="x",
        state_since=now,
        expires_at=now,
    )
    Agent.objects.filter(name="prod-eu-2").update(state="unavailable")

    page = text_of(browser.get("/environments?q=production-eu"))

    assert "vm: 1 of 2 available" in page
    assert "vm: 1 of 1 ready" in page
    assert "1 unavailable" in page
    assert "staging" not in page.split('id="environments"')[1]
    assert "No environments match" in text_of(browser.get("/environments?q=mars"))


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1, "b": "x"}, {"a": 2, "b": "x"}, [("a", "1", "2")]),
        (None, {"a": {"b": []}}, [("a › b", None, "[]")]),
        ({"a": None}, None, [("a", "null", None)]),
        ({"a": {"b": 1}}, {"a": {}}, [("a › b", "1", None), ("a", None, "{}")]),
        ({"a": True}, {"a": 1}, [("a", "true", "1")]),
        (None, None, []),
    ],
)
def test_a_change_is_told_member_by_member(before, after, lines):
    assert [(one.name, one.before, one.after) for one in changes.compare(before, after)] == lines
