"""Plans and confirmations: a dry run is never refused, a destructive change in bulk asks first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from controlplane.access.models import AuditRecord
from controlplane.scopes import Scope
from overrides.models import Override, Revision
from registry.dispatch.models import ResourceRow
from tests.support.api_client import Api, make_project, token_for

HERE = {"project": "flytesnacks", "domain": "development"}
QUERY = "project=flytesnacks&domain=development"


@pytest.fixture(autouse=True)
def _project(db: None) -> None:
    make_project()


def document(number: int = 0, *, cpu: str = "1", part: str = "defaults") -> dict[str, Any]:
    return {
        **HERE,
        "kind": "overrides",
        "workflow": f"w{number}",
        "spec": {"taskResources": {part: {"cpu": cpu}}},
    }


def send(api: Api, documents: list[Any], **query: Any) -> Any:
    query = {"managed_by": "git", **query}
    path = "&".join(f"{name}={value}" for name, value in query.items())
    return api.post(f"overrides:apply?{path}", {"documents": documents})


def rows() -> list[Any]:
    return list(Override.objects.order_by("pk").values())


def test_a_prune_of_everything_asks_and_changes_nothing(api):
    send(api, [document(number) for number in range(3)])
    before, revisions, audited = rows(), Revision.objects.count(), AuditRecord.objects.count()

    refused = send(api, [], prune="true")

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "confirmation_required")
    assert "3 of the 3 overrides that git manages" in problem["detail"]
    assert (problem["removed"], len(problem["confirm"])) == (3, 32)
    assert (rows(), Revision.objects.count(), AuditRecord.objects.count()) == (before, revisions, audited)


@pytest.mark.parametrize(
    ("stored", "remaining", "asks"),
    [
        (1, 0, True),
        (30, 10, True),
        (30, 11, False),
        (200, 180, False),
        (199, 179, True),
        (3, 1, False),
    ],
)
def test_the_share_and_the_number_decide_whether_a_prune_asks(api, stored, remaining, asks):
    send(api, [document(number) for number in range(stored)])

    answer = send(api, [document(number) for number in range(remaining)], prune="true")

    assert answer.status_code == (409 if asks else 200)
    assert Override.objects.count() == (stored if asks else remaining)


def test_a_dry_run_of_a_prune_answers_the_plan_with_the_digest_that_confirms_it(api):
    send(api, [document(number) for number in range(3)])
    before = rows()

    planned = send(api, [], prune="true", dry_run="true")
    plan = planned.json()

    assert planned.status_code == 200
    assert (plan["summary"]["deleted"], rows()) == (3, before)
    assert plan["confirm"] == plan["digest"] == send(api, [], prune="true").json()["confirm"]
    assert "removes 3 of the 3" in plan["confirm_reason"]
    done = send(api, [], prune="true", confirm=plan["confirm"])
    assert (done.status_code, rows()) == (200, [])


def test_a_confirmed_request_sent_again_changes_nothing(api):
    send(api, [document(number) for number in range(3)])
    confirm = send(api, [], prune="true", dry_run="true").json()["confirm"]
    first = send(api, [], prune="true", confirm=confirm)
    revisions = Revision.objects.count()

    again = send(api, [], prune="true", confirm=confirm)

    assert (first.status_code, again.status_code) == (200, 200)
    assert (again.json()["revision"], again.json()["confirm"]) == (0, None)
    assert Revision.objects.count() == revisions


def test_a_number_that_confirmed_a_wide_change_is_accepted_again(api, settings):
    settings.CONFIRM_ABOVE_SCOPES = 2
    wide = {
        "kind": "overrides",
        "project": "flytesnacks",
        "spec": {"taskResources": {"defaults": {"cpu": "1"}}},
    }
    plan = send(api, [wide], dry_run="true").json()

    assert plan["confirm"] == "4"
    for _ in range(2):
        assert send(api, [wide], confirm=plan["confirm"]).status_code == 200
    assert Revision.objects.count() == 1


def test_the_digest_confirms_a_wide_change_too(api, settings):
    settings.CONFIRM_ABOVE_SCOPES = 2
    documents = [document(number) for number in range(3)]
    plan = send(api, documents, dry_run="true").json()

    assert send(api, documents, confirm=plan["digest"]).status_code == 200


def test_a_number_of_scopes_does_not_confirm_a_removal(api):
    send(api, [document(number) for number in range(3)])
    affected = send(api, [], prune="true", dry_run="true").json()["affected_scopes"]

    refused = send(api, [], prune="true", confirm=affected)

    assert (refused.status_code, Override.objects.count()) == (409, 3)


def test_a_digest_of_what_is_no_longer_the_plan_confirms_nothing(api):
    send(api, [document(number) for number in range(3)])
    old = send(api, [], prune="true", dry_run="true").json()["confirm"]
    send(api, [document(0, cpu="2")])
    before = rows()

    refused = send(api, [], prune="true", confirm=old)

    assert (refused.status_code, rows()) == (409, before)
    assert refused.json()["confirm"] not in (None, old)
    assert send(api, [], prune="true", confirm=refused.json()["confirm"]).status_code == 200


def test_a_dry_run_is_not_refused_whatever_it_confirms(api, settings):
    settings.CONFIRM_ABOVE_SCOPES = 1
    send(api, [document(number) for number in range(3)], confirm=3)

    for confirm in ("", "&confirm=7", f"&confirm={'0' * 32}"):
        answer = api.post(
            f"overrides:apply?managed_by=git&prune=true&dry_run=true{confirm}", {"documents": []}
        )
        assert (answer.status_code, answer.json()["summary"]["deleted"]) == (200, 3)
    assert Override.objects.count() == 3


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_dry_run_of_one_override_is_not_refused_for_its_size(api, settings, method):
    api.put("overrides/task_resource?project=flytesnacks", {"attributes": {"defaults": {"cpu": "1"}}})
    settings.CONFIRM_ABOVE_SCOPES = 1
    body = None if method == "DELETE" else {"attributes": {"defaults": {"cpu": "2"}}}
    path = "overrides/task_resource?project=flytesnacks"

    tried = api(method, f"{path}&dry_run=true", body, If_Match='"v1"')
    refused = api(method, path, body, If_Match='"v1"')

    assert (tried.status_code, refused.status_code) == (204 if method == "DELETE" else 200, 409)
    assert Override.objects.get().version == 1


@pytest.mark.parametrize("confirm", ["-1", "x", "0" * 31, "G" * 32])
def test_what_is_no_number_and_no_digest_is_refused(api, confirm):
    answer = send(api, [document()], confirm=confirm)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?confirm")
    assert Override.objects.count() == 0


def test_a_prune_within_a_scope_asks_about_what_is_in_reach(api):
    send(api, [document(number) for number in range(3)])
    send(api, [{"kind": "overrides", "domain": "staging", "spec": {"taskResources": {}}}])

    everywhere = send(api, [document(0)], prune="true", dry_run="true").json()
    within = send(api, [], prune="true", domain="staging", dry_run="true").json()

    assert (everywhere["confirm"], everywhere["summary"]["deleted"]) == (None, 3)
    assert "1 of the 1" in within["confirm_reason"]


def test_a_rollback_that_removes_many_overrides_asks(api):
    send(api, [document(number) for number in range(25)])
    path = f"overrides:rollback?{QUERY}&managed_by=git"

    refused = api.post(path, {"to_revision": 0})
    plan = api.post(f"{path}&dry_run=true", {"to_revision": 0}).json()
    count = Override.objects.count()
    done = [api.post(f"{path}&confirm={plan['confirm']}", {"to_revision": 0}) for _ in range(2)]

    assert (refused.status_code, refused.json()["removed"], count) == (409, 25, 25)
    assert ([answer.status_code for answer in done], Override.objects.count()) == ([200, 200], 0)


def test_an_import_that_prunes_much_asks(api):
    files = {"tra.yaml": "project: flytesnacks\ndomain: staging\ndefaults:\n  cpu: '1'\n"}
    other = {"tra.yaml": "project: flytesnacks\ndomain: production\ndefaults:\n  cpu: '1'\n"}
    api.post("overrides:import", {"flytectl_files": files})
    expected = {"flytectl_files": other, "prune": True}

    refused = api.post("overrides:import", expected)
    plan = api.post("overrides:import?dry_run=true", expected).json()["plan"]
    domain = Override.objects.get().domain
    done = api.post(f"overrides:import?confirm={plan['confirm']}", expected)

    assert (refused.status_code, domain) == (409, "staging")
    assert (done.status_code, Override.objects.get().domain) == (200, "production")


# Guard rails.

LIMITS = "overrides/task_resource"


def rail(name: str = "cap", **rule: Any) -> dict[str, Any]:
    return {
        "name": name,
        "scope": {"project": "flytesnacks"},
        "resource_type": "task_resource",
        "pointer": "/limits/cpu",
        "rule": rule or {"maximum": "4"},
    }


def broken_document() -> dict[str, Any]:
    """Its limit of 8 breaks a rail of 4; its memory breaks nothing."""
    return {**HERE, "kind": "overrides", "spec": {"taskResources": {"limits": {"cpu": "8", "memory": "1Gi"}}}}


@pytest.fixture
def accepted(api: Api) -> Api:
    """An override that breaks a rail which was put up all the same."""
    send(api, [broken_document()])
    assert api.put("guard-rails/cap?accept_existing=true", rail()).status_code == 201
    return api


def test_an_identical_document_is_unchanged_under_a_rail_that_it_breaks(accepted):
    answer = send(accepted, [broken_document()])

    assert (answer.status_code, answer.json()["summary"]["unchanged"]) == (200, 1)


def test_another_field_may_change_under_a_rail_that_the_document_breaks(accepted):
    changed = broken_document()
    changed["spec"]["taskResources"]["limits"]["memory"] = "2Gi"

    applied = send(accepted, [changed])
    patched = accepted.patch(f"{LIMITS}?{QUERY}&managed_by=git", {"attributes": {"limits": {"gpu": "1"}}})
    attributes = {"limits": {"cpu": "8", "memory": "3Gi"}}
    put = accepted.put(f"{LIMITS}?{QUERY}&managed_by=git", {"attributes": attributes}, If_Match='"v3"')

    assert [applied.status_code, patched.status_code, put.status_code] == [200, 200, 200]
    assert Override.objects.get().attributes == attributes


def test_the_broken_value_itself_may_change_to_nothing_else_that_breaks_the_rail(accepted):
    worse = broken_document()
    worse["spec"]["taskResources"]["limits"]["cpu"] = "9"
    better = broken_document()
    better["spec"]["taskResources"]["limits"]["cpu"] = "4"
    before = rows()

    refused = send(accepted, [worse])

    assert (refused.status_code, refused.json()["code"]) == (422, "guard_rail_broken")
    assert rows() == before
    assert send(accepted, [better]).status_code == 200
    assert send(accepted, [broken_document()]).status_code == 422


def test_a_scope_document_can_be_put_back_under_a_rail_that_it_breaks(accepted):
    got = accepted.get(f"overrides/document?{QUERY}")

    answer = accepted.put(f"overrides/document?{QUERY}&managed_by=git", got.json(), If_Match=got["ETag"])

    assert answer.status_code == 200, answer.json()


@pytest.mark.parametrize("layout", ["documents", "configmap"])
def test_the_own_export_is_unchanged_under_a_rail_that_it_breaks(accepted, layout):
    exported = accepted.get(f"overrides/export?format={layout}").content

    answer = accepted.post("overrides:apply?managed_by=git", exported, Content_Type="application/yaml")

    assert answer.status_code == 200, answer.json()
    assert (answer.json()["revision"], answer.json()["summary"]["unchanged"]) == (0, 1)


def test_an_export_with_a_broken_rail_restores_an_empty_installation(accepted):
    exported = accepted.get("overrides/export?format=documents").content
    accepted.delete("guard-rails/cap", If_Match='"v1"')
    accepted.delete(f"{LIMITS}?{QUERY}&managed_by=git", If_Match='"v1"')

    answer = accepted.post("overrides:apply?managed_by=git", exported, Content_Type="application/yaml")

    assert answer.status_code == 200, answer.json()
    (kept_out,) = answer.json()["kept_out"]
    assert (kept_out["leaf"], kept_out["value"], kept_out["rail"]) == ("/limits/cpu", "8", "cap")
    assert accepted.get("overrides/export?format=documents").content == exported


def test_a_rail_that_stays_as_it_is_refuses_what_comes_with_it_in_one_bundle(api):
    api.put("guard-rails/cap", rail())
    guarded = {"kind": "guardRail", **rail()}

    same = send(api, [guarded, broken_document()])
    lower = send(api, [{**guarded, "rule": {"maximum": "2"}}, broken_document()])
    raised = send(api, [{**guarded, "rule": {"maximum": "8"}}, broken_document()])

    assert [same.status_code, lower.status_code, raised.status_code] == [422, 422, 200]


def test_a_changed_reason_does_not_ask_again_about_accepted_values(accepted):
    answer = accepted.put("guard-rails/cap", {**rail(), "reason": "Ask first."}, If_Match='"v1"')

    assert (answer.status_code, answer.json()["version"]) == (200, 2)


@pytest.mark.parametrize("accept", ["", "?accept_existing=true"])
def test_a_rail_may_not_make_limits_smaller_than_defaults(api, accept):
    api.put(f"{LIMITS}?domain=development", {"attributes": {"limits": {"cpu": "2"}}})
    attributes = {"limits": {"cpu": "8"}, "defaults": {"cpu": "6"}}
    api.put(f"{LIMITS}?{QUERY}", {"attributes": attributes})
    effective = api.get(f"overrides/effective?{QUERY}").json()

    refused = api.put(f"guard-rails/cap{accept}", rail())

    assert (refused.status_code, refused.json()["code"]) == (422, "inherited_conflict")
    assert refused.json()["scopes"] == ["project=flytesnacks domain=development"]
    assert api.get("guard-rails").json()["items"] == []
    assert api.get(f"overrides/effective?{QUERY}").json() == effective


def test_neither_may_a_rail_of_a_bundle(api):
    api.put(f"{LIMITS}?domain=development", {"attributes": {"limits": {"cpu": "2"}}})
    attributes = {"limits": {"cpu": "8"}, "defaults": {"cpu": "6"}}
    api.put(f"{LIMITS}?{QUERY}", {"attributes": attributes})

    alone = send(api, [{"kind": "guardRail", **rail()}])
    other = {"kind": "guardRail", **rail("defaults"), "pointer": "/defaults/cpu", "rule": {"maximum": "2"}}
    together = send(api, [{"kind": "guardRail", **rail()}, other])

    assert (alone.status_code, alone.json()["code"]) == (422, "inherited_conflict")
    assert together.status_code == 200


def test_a_removed_rail_may_not_uncover_what_is_invalid(api):
    api.put("guard-rails/cap", {**rail(), "pointer": "/defaults/cpu"})
    api.put(f"{LIMITS}?project=flytesnacks", {"attributes": {"limits": {"cpu": "5"}}})
    api.put(f"{LIMITS}?domain=development", {"attributes": {"defaults": {"cpu": "6"}}})

    refused = api.delete("guard-rails/cap", If_Match='"v1"')

    assert (refused.status_code, refused.json()["code"]) == (422, "inherited_conflict")
    assert api.get("guard-rails/cap").status_code == 200


def test_a_rail_that_changes_many_scopes_asks_for_their_number(api, settings):
    api.put(f"{LIMITS}?project=flytesnacks", {"attributes": {"limits": {"cpu": "8"}}})
    settings.CONFIRM_ABOVE_SCOPES = 3
    path = "guard-rails/cap?accept_existing=true"

    refused = api.put(path, rail())
    guard_rails = api.get("guard-rails").json()["items"]
    done = api.put(f"{path}&confirm={refused.json()['confirm']}", rail())
    again = api.put(f"{path}&confirm=4", rail(), If_Match='"v1"')

    assert (refused.status_code, refused.json()["affected"], guard_rails) == (409, 4, [])
    assert (done.status_code, done.json()["plan"]["affected_scopes"]) == (201, 4)
    assert (again.status_code, again.json()["version"]) == (200, 1)


def test_a_dry_run_of_a_rail_answers_the_plan_with_what_it_keeps_out(api, settings):
    api.put(f"{LIMITS}?{QUERY}", {"attributes": {"limits": {"cpu": "8"}}})
    settings.CONFIRM_ABOVE_SCOPES = 0
    revisions = Revision.objects.count()

    answer = api.put("guard-rails/cap?dry_run=true", rail())
    refused = api.put("guard-rails/cap", rail())

    plan = answer.json()["plan"]
    assert (answer.status_code, refused.status_code, refused.json()["code"]) == (201, 409, "still_in_use")
    assert (plan["affected_scopes"], plan["kept_out"][0]["leaf"]) == (1, "/limits/cpu")
    assert plan["effective"][0]["differences"] == [{"leaf": "/limits/cpu", "before": "8"}]
    assert (api.get("guard-rails").json()["items"], Revision.objects.count()) == ([], revisions)


def test_a_dry_run_of_a_rails_removal_answers_the_plan(accepted):
    answer = accepted.delete("guard-rails/cap?dry_run=true", If_Match='"v1"')

    assert (answer.status_code, answer["Dry-Run"]) == (200, "true")
    assert answer.json()["effective"][0]["differences"] == [{"leaf": "/limits/cpu", "after": "8"}]
    assert accepted.get("guard-rails/cap").status_code == 200
    assert accepted.delete("guard-rails/cap", If_Match='"v1"').status_code == 204


def test_a_rail_elsewhere_changes_nothing_here(api):
    api.put(f"{LIMITS}?domain=staging", {"attributes": {"limits": {"cpu": "8"}}})

    plan = api.put("guard-rails/cap", {**rail(), "scope": {"domain": "production"}}).json()["plan"]

    assert (plan["affected_scopes"], plan["kept_out"]) == (0, [])


# Resource types.

PRIORITY = {
    "name": "priority",
    "strategy": "merge",
    "schema": {
        "type": "object",
        "properties": {"level": {"type": "integer"}, "queue": {"type": "string"}},
    },
}


def test_a_dry_run_of_a_type_answers_the_plan(api):
    planned = api.post("resource-types?dry_run=true", {**PRIORITY, "defaults": {"level": 5}})

    # The global scope, and the project in each of its three domains.
    assert planned.json()["plan"]["affected_scopes"] == 4
    assert planned.json()["plan"]["effective"][0]["differences"] == [{"leaf": "/level", "after": 5}]
    assert api.get("resource-types/priority").status_code == 404


def test_a_type_whose_merge_rule_changes_tells_the_effective_values_that_change(api, settings):
    api.post("resource-types", PRIORITY)
    api.put("overrides/priority", {"attributes": {"level": 1, "queue": "a"}})
    api.put(f"overrides/priority?{QUERY}", {"attributes": {"level": 2}})
    settings.CONFIRM_ABOVE_SCOPES = 0
    path, replaces = "resource-types/priority", {**PRIORITY, "strategy": "replace"}

    planned = api.put(f"{path}?dry_run=true", replaces, If_Match='"v1"').json()["plan"]

    assert [entry["differences"] for entry in planned["effective"]] == [[{"leaf": "/queue", "before": "a"}]]
    settings.CONFIRM_ABOVE_SCOPES = 1
    assert api.put(path, {**PRIORITY, "defaults": {"x": 1}}, If_Match='"v1"').json()["affected"] == 4
    done = api.put(f"{path}?confirm={planned['digest']}", replaces, If_Match='"v1"')
    assert (done.status_code, done.json()["plan"]["revision"]) == (200, 4)


def test_a_type_may_not_resolve_to_something_invalid_under_the_rails_that_hold(api):
    api.post("resource-types", PRIORITY)
    api.put("overrides/priority", {"attributes": {"level": 9}})
    guarded = {**rail(), "resource_type": "priority", "pointer": "/level", "rule": {"maximum": 5}}
    api.put("guard-rails/cap?accept_existing=true", guarded)
    required = {**PRIORITY, "schema": {**PRIORITY["schema"], "required": ["level"]}}
    api.put("overrides/priority?project=flytesnacks", {"attributes": {"queue": "a"}})

    refused = api.put("resource-types/priority", required, If_Match='"v1"')

    assert (refused.status_code, refused.json()["code"]) == (422, "inherited_conflict")
    assert api.get("resource-types/priority").json()["version"] == 1


def test_a_removed_type_with_defaults_says_where_they_applied(api, settings):
    api.post("resource-types", {**PRIORITY, "defaults": {"level": 5}})

    planned = api.delete("resource-types/priority?dry_run=true", If_Match='"v1"')
    settings.CONFIRM_ABOVE_SCOPES = 3
    refused = api.delete("resource-types/priority", If_Match='"v1"')

    assert (planned.status_code, planned.json()["affected_scopes"]) == (200, 4)
    assert (refused.status_code, api.get("resource-types/priority").status_code) == (409, 200)
    assert api.delete("resource-types/priority?confirm=4", If_Match='"v1"').status_code == 204


def test_who_may_not_put_up_rails_learns_nothing_from_a_dry_run(api):
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    assert editor.put("guard-rails/cap?dry_run=true", rail()).status_code == 403
    assert editor.post("resource-types?dry_run=true", PRIORITY).status_code == 403


def test_a_plan_names_the_agents_that_work_where_values_change_as_far_as_the_caller_may_know(api):
    make_project("secret")
    agent, other = UUID(int=1), UUID(int=2)
    for number, (project, agent_id) in enumerate([("flytesnacks", agent)] * 2 + [("secret", other)]):
        name = "prod-eu-1" if agent_id == agent else "prod-us-1"
        ResourceRow.objects.create(
            id=f"r{number}", service_type="vm", spec={}, project=project, domain="development",
            agent_id=agent_id, agent_name=name, created_by="tests",
        )  # fmt: skip
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))
    change = {"attributes": {"defaults": {"cpu": "2"}}}

    here = editor.post(f"overrides/task_resource:preview?{QUERY}", change).json()
    everywhere = api.post("overrides/task_resource:preview", change).json()
    nowhere = editor.post("overrides/task_resource:preview?project=flytesnacks&domain=staging", change)

    reached = {"agent_id": str(agent), "name": "prod-eu-1", "resources": 2}
    assert here["affected_agents"] == {"count": 1, "items": [reached]}
    assert [each["name"] for each in everywhere["affected_agents"]["items"]] == ["prod-eu-1", "prod-us-1"]
    assert nowhere.json()["affected_agents"] == {"count": 0, "items": []}
