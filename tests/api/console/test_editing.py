"""The console changes overrides by the same functions as the API: looked at first, never by surprise."""

import html
import re

import pytest
from django.db.models.functions import Now
from django.test import Client

from console.overrides import forms, three_way_diff
from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, PrincipalKind
from controlplane.access.teams.teams import create_team
from controlplane.demo.seed import seed
from controlplane.errors import MalformedBody
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.writes import get_override, put_override
from overrides.models import Override, SourceState
from overrides.resolution.addresses import Address
from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types import BUILT_IN
from registry.agent_configs.models import AgentConfig, AgentConfigStatus, DataPlane
from registry.agent_configs.team_models import PublishingTeam
from registry.environments.models import Environment
from tests.support.api_client import ACTOR, Api, token_for

WORKFLOW = "project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
LOST = {
    "kind": "task_type",
    "name": "spark",
    "version": "",
    "pin": "",
    "reason": "Taken",
    "because": "",
    "message": "spark is taken.",
    "needs_review": False,
    "winner": None,
}
PLACE = Address("task_resource", Scope("development", "flytesnacks", "MyExampleWorkflow"))
EDIT = f"/overrides/task_resource/edit?{WORKFLOW}"
TASK_RESOURCE = BUILT_IN["task_resource"].schema


def person(role, scope=Scope()):
    principal = principals.create_principal(f"{role}-person", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(principal, role, scope, actor=ACTOR)
    client = Client()
    client.force_login(principal)
    return client


@pytest.fixture
def browser(db):
    seed()
    return person(Role.ADMIN)


def text_shown(answer):
    return html.unescape(answer.content.decode())


def test_a_preview_says_what_would_change_where_and_keeps_nothing(browser):
    form = {"do": "preview", "version": "1", "text": "limits: {cpu: '8'}"}

    answer = browser.post(EDIT, form)

    assert answer.status_code == 200
    page = text_shown(answer)
    assert "<del>3</del>" in page
    assert "<ins>8</ins>" in page
    # At the workflow and at its launch plan? Only where the type is set or projects meet domains.
    assert "changes at 1 scope" in page
    assert get_override(PLACE).version == 1


def test_a_save_is_audited_with_its_reason_as_the_api_would(browser):
    answer = browser.post(
        EDIT, {"do": "save", "version": "1", "text": "limits: {cpu: '8'}", "reason": "More."}
    )

    assert answer.status_code == 302
    stored = get_override(PLACE)
    assert (stored.attributes, stored.version, stored.change_message) == (
        {"limits": {"cpu": "8"}},
        2,
        "More.",
    )
    record = AuditRecord.objects.order_by("-id").first()
    assert (record.actor, record.reason, record.action) == ("admin-person", "More.", "override.updated")
    assert 'data-draft-saved="override:task_resource at project=flytesnacks' in text_shown(
        browser.get(answer["Location"])
    )


def test_what_somebody_else_saved_meanwhile_is_shown_beside_what_was_typed(browser):
    put_override(PLACE, {"limits": {"cpu": "5"}}, actor=ACTOR)

    answer = browser.post(EDIT, {"do": "save", "version": "1", "text": "limits: {cpu: '8'} # mine"})

    page = text_shown(answer)
    assert answer.status_code == 412
    assert "Edit conflict" in page
    assert "limits: {cpu: '8'} # mine" in page, "the text stays as it was typed, comments too"
    assert 'name="version" value="2"' in page
    assert 'class="state conflict"' in page
    assert get_override(PLACE).attributes == {"limits": {"cpu": "5"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limits: [", "line"),
        ("limit: {}", "limit"),
        ("- a", "an object"),
        ("limits: {cpu: '0.1'}", "below"),
        ("limits: {ephemeralStorage: 1Gi, ephemeral_storage: 2Gi}", "ephemeralStorage"),
    ],
)
def test_a_text_that_is_no_override_is_explained_and_kept(browser, text, words):
    put_override(PLACE, {"defaults": {"cpu": "1"}}, actor=ACTOR)

    answer = browser.post(EDIT, {"do": "save", "version": "2", "text": text})

    assert answer.status_code in (400, 422)
    assert words in text_shown(answer)
    assert text in text_shown(answer)


def test_what_is_set_can_be_removed_after_a_look(browser):
    looked = browser.post(EDIT, {"do": "preview-delete", "version": "1", "text": "whatever: ["})
    assert "Remove override" in text_shown(looked)
    assert Override.objects.of("task_resource", PLACE.scope).exists()

    browser.post(EDIT, {"do": "delete", "version": "1", "text": "whatever: ["})

    assert not Override.objects.of("task_resource", PLACE.scope).exists()


def test_who_may_only_read_gets_no_editor_and_no_way_around_it(browser):
    reader = person(Role.VIEWER)

    assert reader.get(EDIT).status_code == 403
    assert reader.post(EDIT, {"do": "save", "version": "1", "text": ""}).status_code == 403
    assert "/edit?" not in reader.get(f"/overrides?{WORKFLOW}").content.decode()
    history = f"/overrides/task_resource/history?{WORKFLOW}"
    assert reader.get(history).status_code == 200
    assert reader.post(history, {"do": "save", "to_version": "1"}).status_code == 403


def test_the_editor_says_who_manages_which_values(browser):
    path = "overrides/workflow_execution_config"
    body = {"attributes": {"max_parallelism": 7}}
    Api(token_for("admin")).put(f"{path}?project=flytesnacks&managed_by=git", body)

    page = text_shown(browser.get(f"/{path}/edit?project=flytesnacks"))

    assert "<strong>Managed by git:</strong> <code>/max_parallelism</code>" in page
    assert "Managed by" not in text_shown(browser.get(f"/{path}/edit?project=flytesnacks&domain=production"))


def test_an_editor_of_one_project_cannot_take_values_over(browser):
    editor = person(Role.EDITOR, Scope(project="flytesnacks"))
    assert 'name="force"' not in text_shown(editor.get(EDIT))

    answer = editor.post(EDIT, {"do": "save", "version": "1", "text": "", "force": "on"})

    assert answer.status_code == 403


def test_values_from_files_show_file_and_line_and_cannot_be_edited(browser, settings):
    settings.OVERRIDES_SOURCE = "file"
    Override.objects.of("task_resource", PLACE.scope).update(declared_in="teams/ml.yaml:12")

    page = text_shown(browser.get(f"/overrides?{WORKFLOW}"))

    assert "teams/ml.yaml:12" in page
    assert "read-only" in page
    assert "/edit?" not in page
    assert browser.get(EDIT).status_code == 409


def test_a_copy_opens_the_editor_at_the_other_scope_with_what_is_set_here(browser):
    to = "to_project=billing&to_domain=production&to_workflow=&to_launch_plan="
    answer = browser.get(f"/overrides/task_resource/copy?{WORKFLOW}&{to}")

    page = text_shown(browser.get(answer["Location"]))

    assert "domain=production" in answer["Location"]
    assert "gpu: '4'" in page
    assert 'name="version" value="0"' in page


def test_history_compares_any_two_versions_and_goes_back_after_a_look(browser):
    put_override(PLACE, {"limits": {"cpu": "5"}}, actor=ACTOR)
    history = f"/overrides/task_resource/history?{WORKFLOW}"
    page = text_shown(browser.get(f"{history}&from=1&to=2"))
    assert "<del>2Gi</del>" in page
    assert 'data-user="admin-person"' in page

    looked = browser.post(history, {"do": "preview", "to_version": "1"})
    assert "<ins>2Gi</ins>" in text_shown(looked)
    assert get_override(PLACE).version == 2

    browser.post(history, {"do": "save", "to_version": "1"})
    assert get_override(PLACE).attributes["limits"]["memory"] == "2Gi"
    assert browser.get(f"{history}&from=x&to=2").status_code == 400


def test_two_scopes_are_compared_by_what_applies_there(browser):
    page = text_shown(browser.get(f"/overrides/compare?{WORKFLOW}&other_project=flytesnacks"))

    table = page.partition("<table")[2].partition("</table>")[0]
    assert '<a class="rung" href="/overrides?project=flytesnacks">project=flytesnacks</a>' in table
    row = table.partition("limits › cpu")[2].partition("</tr>")[0]
    assert [re.findall(">([^<]*)</(?:span|small)>", cell) for cell in row.split("<td")[1:]] == [
        ["3", "from workflow"],
        ["2", "from global"],
    ]
    assert ">projectQuotaCpu=100\n" in table
    assert not re.search("<(del|ins|s)>|Before|After", table)


def test_the_tree_counts_what_is_set_at_and_below_each_scope(browser):
    page = text_shown(browser.get("/overrides?project=flytesnacks&domain=development"))

    assert "project=flytesnacks: 1 override here, 5 here and below" in page
    assert "project=flytesnacks domain=development: 2 overrides here, 4 here and below" in page
    assert (
        "project=billing: 1 override here, 1 here and below" in page
        or "project=billing: 0 overrides here" in page
    )
    assert "global: 3 overrides here" in page
    assert "project=recommender" in page
    only = text_shown(browser.get("/overrides?only_set=1"))
    assert "domain=staging: " not in only


def test_form_and_yaml_stay_in_step(browser):
    fields = f"/overrides/task_resource/fields?{WORKFLOW}"

    from_form = browser.post(
        fields, {"text": "limits: {cpu: '3'}", "changed": "/limits/memory", "f:/limits/memory": "4Gi"}
    )
    from_yaml = browser.post(fields, {"text": "limits: {cpu: '7'}"})
    broken = browser.post(fields, {"text": "limits: ["})

    assert "memory: 4Gi" in text_shown(from_form)
    assert 'value="7"' in text_shown(from_yaml)
    assert 'role="alert"' in text_shown(broken)


def test_rows_of_labels_reach_the_yaml(browser):
    fields = f"/overrides/workflow_execution_config/fields?{WORKFLOW}"
    row = {"changed": "/labels/values", "pairs:/labels/values": "1"}

    set_row = browser.post(
        fields, {**row, "text": "", "k:/labels/values": ["team", ""], "v:/labels/values": ["ml", ""]}
    )
    removed = browser.post(fields, {**row, "text": "labels: {values: {team: ml}}"})
    nameless = browser.post(fields, {**row, "text": "", "k:/labels/values": "", "v:/labels/values": "ml"})

    assert "team: ml" in text_shown(set_row)
    assert "team" not in text_shown(removed)
    assert "has no name" in text_shown(nameless)


def test_an_error_stands_at_its_field_beside_what_was_typed(browser):
    edit = f"/overrides/workflow_execution_config/edit?{WORKFLOW}"
    answer = browser.post(edit, {"do": "preview", "version": "0", "text": "max_parallelism: many"})

    page = text_shown(answer)
    assert answer.status_code == 422
    assert 'value="many"' in page
    assert 'aria-describedby="error:/max_parallelism"' in page
    assert 'id="error:/max_parallelism">max_parallelism must be' in page


def test_reason_and_ticket_are_beside_save_once_and_the_form_has_one_preview_more(browser):
    page = text_shown(browser.post(EDIT, {"do": "preview", "version": "1", "text": "limits: {cpu: '8'}"}))

    assert page.count('name="reason"') == 1
    assert page.index('name="reason"') < page.index("Save override") < page.index('id="yaml"')


def test_the_form_has_a_field_for_each_place_and_says_what_is_inherited():
    fields = forms.fields_of(TASK_RESOURCE, {"limits": {"cpu": "3"}}, {"limits": {"memory": "1Gi"}})

    by_pointer = {field.pointer: field for field in fields}
    assert (by_pointer["/limits/cpu"].value, by_pointer["/limits/memory"].inherited) == ("3", "1Gi")
    config = BUILT_IN["workflow_execution_config"].schema
    kinds = {field.pointer: field.kind for field in forms.fields_of(config, {"labels": None}, {})}
    assert (kinds["/interruptible"], kinds["/max_parallelism"], kinds["/envs/values"]) == (
        "choice",
        "text",
        "pairs",
    )
    assert kinds["/labels"] == "part", "a removed object is one field again"


def test_a_field_that_is_emptied_is_inherited_again_and_empties_go():
    attributes = {"limits": {"cpu": "3"}}

    assert forms.with_field(attributes, TASK_RESOURCE, "/limits/cpu", "") == {}
    assert forms.with_field(attributes, TASK_RESOURCE, "/limits/cpu", "~") == {"limits": {"cpu": None}}
    assert forms.with_field({}, TASK_RESOURCE, "/defaults", "{cpu: '1'}") == {"defaults": {"cpu": "1"}}
    config = BUILT_IN["workflow_execution_config"].schema
    assert forms.with_field({}, config, "/max_parallelism", "5") == {"max_parallelism": 5}
    with pytest.raises(MalformedBody):
        forms.with_field({}, config, "/nothing", "5")


def test_three_documents_show_where_both_sides_changed_the_same():
    three_ways = three_way_diff.compare_three(
        {"a": "1", "b": "1", "c": "1"}, {"a": "2", "b": "1", "c": "1"}, {"a": "3", "b": "2", "c": "1"},
        MergeRule(Strategy.MERGE),
    )  # fmt: skip

    assert [(three_way.name, three_way.conflict) for three_way in three_ways] == [("a", True), ("b", False)]


DEFINITION = (
    "name: training_limits\nstrategy: merge\nschema: {type: object, properties: {hours: {type: integer}}}\n"
)


def test_a_type_is_checked_before_it_is_saved_and_listed_at_once(browser):
    checked = browser.post("/resource-types:new", {"do": "check", "version": "0", "text": DEFINITION})
    assert "The definition is valid" in text_shown(checked)
    assert browser.get("/resource-types/training_limits").status_code == 404

    saved = browser.post("/resource-types:new", {"do": "save", "version": "0", "text": DEFINITION})

    assert saved["Location"] == "/resource-types/training_limits"
    assert "custom, v1" in text_shown(browser.get("/resource-types"))
    assert "hours" in text_shown(browser.get("/resource-types/training_limits"))


def test_a_type_is_not_changed_under_rows_that_would_not_fit(browser):
    browser.post("/resource-types:new", {"do": "save", "version": "0", "text": DEFINITION})
    put_override(Address("training_limits", Scope(project="billing")), {"hours": 5}, actor=ACTOR)
    narrower = DEFINITION.replace("type: integer", "type: string")

    edit = "/resource-types/training_limits/edit"
    answer = browser.post(edit, {"do": "check", "version": "1", "text": narrower})

    assert answer.status_code == 409
    assert "project=billing" in text_shown(answer)
    assert "type: string" in text_shown(answer), "the text stays"
    other = browser.post(
        edit, {"do": "save", "version": "1", "text": DEFINITION.replace("training", "other")}
    )
    assert other.status_code == 400
    stale = browser.post(edit, {"do": "save", "version": "7", "text": DEFINITION})
    assert stale.status_code == 412


def test_a_type_that_reaches_many_scopes_shows_where_and_asks_for_the_number(browser, settings):
    settings.CONFIRM_ABOVE_SCOPES = 2
    text = f"{DEFINITION}defaults: {{hours: 5}}\n"
    form = {"version": "0", "text": text}

    checked = text_shown(browser.post("/resource-types:new", {"do": "check", **form}))
    refused = browser.post("/resource-types:new", {"do": "save", **form})
    affected = re.search(r"changes at (\d+) scopes", checked)

    assert affected is not None
    assert (refused.status_code, browser.get("/resource-types/training_limits").status_code) == (409, 404)
    assert f"Type {affected[1]} to confirm" in checked
    assert f"Type {affected[1]} to confirm" in text_shown(refused)
    saved = browser.post("/resource-types:new", {"do": "save", "confirm": affected[1], **form})
    assert saved["Location"] == "/resource-types/training_limits"


def test_only_who_may_define_types_gets_the_editor(browser):
    editor = person(Role.EDITOR)

    assert editor.get("/resource-types").status_code == 200
    assert editor.get("/resource-types:new").status_code == 403
    assert "Define type" not in text_shown(editor.get("/resource-types"))


def test_the_dashboard_tells_of_an_engaged_guard_and_of_files_that_are_not_in_force(browser, settings):
    assert "No fleet guard is engaged." in text_shown(browser.get("/"))
    Environment.objects.update_or_create(
        name="edge", defaults={"guard_engaged_at": Now(), "guard_reason": "5 of 6 agents are silent."}
    )
    settings.OVERRIDES_SOURCE = "file"
    error = {"file": "a.yaml", "line": 3, "message": "This is no YAML."}
    SourceState.objects.update(state="failing", report={"errors": [error]})

    page = text_shown(browser.get("/"))

    assert "5 of 6 agents are silent." in page
    assert "a.yaml:3" in page
    assert "No fleet guard is engaged." not in page
    assert "up to date" not in page


def test_the_dashboard_tells_of_claims_that_collide(browser):
    document = AgentConfig.objects.create(source="api", team="ml", name="spark", text="", digest="")
    plane = DataPlane.objects.create(name="eu-1")
    AgentConfigStatus.objects.create(document=document, data_plane=plane, conflicts=[LOST])

    page = text_shown(browser.get("/"))

    assert "ml/spark has a rejected claim in eu-1</strong>" in page
    assert "spark is taken" in page
    assert "No agent configuration has a rejected claim" not in page

    for number in range(3):
        other = AgentConfig.objects.create(source="api", team="ml", name=f"x{number}", text="", digest="")
        AgentConfigStatus.objects.create(document=other, data_plane=plane, conflicts=[LOST])
    many = text_shown(browser.get("/"))
    assert many.count('class="incident ') == 1
    assert "4 agent configurations have rejected claims" in many


def test_the_dashboard_states_only_what_it_looked_at(browser):
    Environment.objects.update_or_create(
        name="edge", defaults={"guard_engaged_at": Now(), "guard_reason": "x"}
    )
    document = AgentConfig.objects.create(source="api", team="rival", name="spark", text="", digest="")
    plane = DataPlane.objects.create(name="eu-1")
    AgentConfigStatus.objects.create(document=document, data_plane=plane, conflicts=[LOST])
    PublishingTeam.objects.create(team=create_team("rival", actor=ACTOR), organisation="rival-inc")

    page = text_shown(person(Role.VIEWER, Scope(project="flytesnacks")).get("/"))

    assert "No fleet guard is engaged" not in page
    assert "Not checked, because your roles do not allow it: the fleet." in page
    assert "No agent configuration that you can read has a rejected claim." in page
    assert "rival" not in page


def test_mistakes_in_files_are_shown_to_readers_of_all_scopes_alone(browser, settings):
    settings.OVERRIDES_SOURCE = "file"
    error = {"file": "secret.yaml", "line": 3, "message": "This is no YAML."}
    SourceState.objects.update(state="failing", report={"errors": [error], "files": ["secret.yaml"]})
    viewer = person(Role.VIEWER, Scope(project="flytesnacks"))

    for address in ("/", "/overrides?project=flytesnacks"):
        assert "secret.yaml" in text_shown(browser.get(address))
        page = text_shown(viewer.get(address))
        assert "secret.yaml" not in page
        assert "Overrides are loaded from files" in page
