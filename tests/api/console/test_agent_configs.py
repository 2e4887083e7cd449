"""Pages about agent configurations: documents, conflicts, data planes, and a box to try a document in."""

import re

import pytest
from django.db.models import F
from django.db.models.functions import Now

from console.agent_configs import data_planes as plane_pages
from console.agent_configs import document_status
from controlplane.identity.roles import Role
from registry.agent_configs.models import AgentConfig, AgentConfigRelease, AgentConfigStatus, DataPlane
from registry.agent_configs.source_models import AgentConfigCluster, AgentConfigFolder, RegisteredCluster
from tests.api.registry.agent_configs.test_agent_configs import text
from tests.support.api_client import logged_in

TASK = "acme_sensor"


@pytest.fixture
def browser(api):
    """With one data plane, two documents, and a name that both of them claim."""
    api.put("data-planes/eu", {})
    api.put("agent-configs/acme/agents", {"text": text("acme")})
    api.put("agent-configs/rival/agents", {"text": text("rival", TASK)})
    return logged_in("jane", Role.ADMIN)


def page_text(browser, address, status=200):
    answer = browser.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def has_it():
    (conflict,) = AgentConfigStatus.objects.exclude(conflicts=[]).get().conflicts
    return conflict["winner"]["team"]


def test_documents_are_listed_with_how_they_stand(browser):
    listed = page_text(browser, "/agent-configs")

    assert 'class="state active"' in listed
    assert 'class="state conflict"' in listed
    assert "rival" not in page_text(browser, "/agent-configs?team=acme").split("<tbody>")[1]
    assert "No documents match" in page_text(browser, "/agent-configs?team=%00")


def test_a_document_shows_its_text_its_claims_and_what_happened(browser):
    page = page_text(browser, "/agent-configs/documents/api/acme/agents")

    assert "acme-sensor.svc.cluster.local:8000" in page
    assert "Programmed=True" in page
    assert "agent_config.published" in page
    assert 'aria-label="Release name acme_sensor"' in page
    assert page_text(browser, "/agent-configs/documents/api/acme/nothing", 404)
    unasked = page_text(logged_in("vera", Role.VIEWER), "/agent-configs/documents/api/acme/agents")
    assert not re.search("Change it|Leave it out|Give up</a>", unasked)


def test_a_conflict_names_both_and_the_rule_and_is_handed_over(browser):
    page = page_text(browser, "/agent-configs/conflicts")
    assert "rival" in page
    assert "<strong>established</strong>" in page
    address = re.search(r'href="(/agent-configs/conflicts/hand-over[^"]+)"', page)[1].replace("&amp;", "&")

    confirmation = page_text(browser, address)
    assert "eu: " in confirmation
    assert has_it() == "acme"
    done = browser.post(address, {"reason": "They run it now."})

    assert done["Location"] == "/agent-configs/conflicts"
    assert has_it() == "rival"


def test_the_owner_of_a_conflict_is_pinned_and_unpinned(browser, api):
    page = page_text(browser, "/agent-configs/conflicts")
    address = re.search(r'href="(/agent-configs/conflicts/pin[^"]+)"', page)[1].replace("&amp;", "&")
    assert f"cpctl agent-configs pin task_type {TASK} --team acme" in page_text(browser, address)
    assert browser.post(address, {"reason": "In production."})["Location"] == "/agent-configs/conflicts"

    # What would otherwise take the name from it.
    api.post("agent-config-grants", {"team": "rival", "pattern": TASK})
    page = page_text(browser, "/agent-configs/conflicts")
    assert (has_it(), "<strong>pinned</strong>" in page, "In production." in page) == ("acme", True, True)
    viewed = page_text(logged_in("vera", Role.VIEWER), "/agent-configs/conflicts")
    assert ("In production." in viewed, "conflicts/unpin" in viewed) == (True, False)

    address = re.search(r'href="(/agent-configs/conflicts/unpin[^"]+)"', page)[1].replace("&amp;", "&")
    assert browser.post(address, {}).status_code == 302
    assert has_it() == "rival"


def test_what_cannot_be_handed_over_is_said_before(browser):
    address = "/agent-configs/conflicts/hand-over?kind=task_type&name=acme_sensor&from_team=acme&to_team=none"

    assert "The transfer is not possible" in page_text(browser, address)
    assert browser.post(address, {}).status_code == 400
    assert has_it() == "acme"


def test_a_name_is_given_up_by_its_publishers_alone(browser):
    address = f"/agent-configs/give-up?team=acme&kind=task_type&name={TASK}"
    stranger = logged_in("eve", Role.EDITOR)

    assert stranger.post(address, {}).status_code == 403
    assert not AgentConfigRelease.objects.exists()
    assert browser.post(address, {"reason": ""}).status_code == 302
    assert AgentConfigRelease.objects.get().team == "acme"


def test_a_data_plane_shows_its_bundles_and_what_changed_between_two(browser, api):
    api.put("agent-configs/acme/agents", {"text": text("acme", "acme_other")}, If_Match='"v1"')
    plane = DataPlane.objects.get(name="eu")

    listed, plane_page = (
        page_text(browser, "/agent-configs/planes"),
        page_text(browser, "/agent-configs/planes/eu"),
    )
    last = page_text(browser, f"/agent-configs/planes/eu/{plane.active_revision}?against=1")

    assert 'class="state pending"' in listed
    assert f"/agent-configs/planes/eu/{plane.active_revision}" in plane_page
    assert "Changes since revision 1" in last
    assert 'class="added">+' in last
    assert page_text(browser, "/agent-configs/planes/eu/99999999999", 404)
    assert page_text(browser, "/agent-configs/planes/mars", 404)


def test_a_rejection_is_shown_with_its_reason(browser, api):
    revision = DataPlane.objects.get(name="eu").active_revision
    api.post(
        "data-planes/eu/acks",
        {"revision": revision, "status": "REJECTED", "errors": [{"message": "No such field."}]},
    )

    page = page_text(browser, "/agent-configs/planes/eu")
    assert "No such field." in page
    assert 'class="state rejected"' in page


def test_a_bundle_that_waits_is_let_go_as_it_was_shown(browser):
    DataPlane.objects.update(
        held={
            "digest": "d1",
            "reasons": [{"gate": "size", "message": "Large."}],
            "changes": ["everything goes"],
        }
    )

    page = page_text(browser, "/agent-configs/planes/eu/approve")
    other = browser.post("/agent-configs/planes/eu/approve", {"digest": "d0", "reason": ""})

    assert "everything goes" in page
    assert 'name="digest" value="d1"' in page
    assert other.status_code == 404
    assert browser.post("/agent-configs/planes/eu/approve", {"digest": "d1"}).status_code == 302


def test_a_document_is_left_out_and_let_in(browser):
    row = AgentConfig.objects.get(team="acme")

    browser.post("/agent-configs/leave-out/api/acme/agents", {"reason": "It breaks."})
    left_out = page_text(browser, "/agent-configs/documents/api/acme/agents")
    assert row.quarantines.count() == 1
    browser.post("/agent-configs/let-in/api/acme/agents", {})

    assert "It breaks." in left_out
    assert row.quarantines.count() == 0


def test_registered_clusters_are_among_the_sources_with_their_removals_and_documents(browser):
    pending = {"digest": "d1", "documents": ["eu/acme/a"]}
    for name in ("eu", "us"):
        RegisteredCluster.objects.create(name=name, principal=f"cluster-{name}", namespaces=["acme"])
    RegisteredCluster.objects.filter(name="eu").update(pending=pending, checked_at=Now(), loaded_at=Now())
    AgentConfig.objects.filter(source="api").update(source="eu")

    listed = page_text(browser, "/agent-configs?source=eu")
    assert "/agent-configs/documents/eu/acme/agents" in listed
    assert 'class="state awaiting_confirmation"' in listed
    assert 'class="state off"' in listed
    assert page_text(browser, "/agent-configs/documents/eu/acme/agents")
    page = page_text(browser, "/agent-configs/sources/eu")
    assert "Removes eu/acme/a" in page
    browser.post("/agent-configs/sources/eu", {"digest": "d1", "reason": "Moved."})
    assert RegisteredCluster.objects.get(name="eu").confirmed_digest == "d1"


def test_sources_tell_how_they_stand_and_a_removal_waits_for_a_word(browser, settings, tmp_path):
    assert "AGENT_CONFIGS_PATH" in page_text(browser, "/agent-configs")
    settings.AGENT_CONFIGS_PATH = str(tmp_path)
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["teams"]
    pending = {"digest": "d1", "documents": ["folder/acme/a.yaml"]}
    AgentConfigFolder.objects.update(pending=pending, loaded_at=Now())
    AgentConfigCluster.objects.update(is_synced=False, problems=["teams: no answer"])

    listed = page_text(browser, "/agent-configs")
    page = page_text(browser, "/agent-configs/sources/folder")
    stranger = logged_in("vera", Role.VIEWER)
    unasked = page_text(stranger, "/agent-configs")

    assert 'class="state awaiting_confirmation"' in listed
    assert 'class="state failing"' in listed
    assert "teams: no answer" in listed
    assert "teams: no answer" not in unasked
    assert "Review removal" not in unasked
    assert "Removes folder/acme/a.yaml" in page
    assert 'name="digest" value="d1"' in page
    assert page_text(stranger, "/agent-configs/sources/folder", 403)
    assert page_text(browser, "/agent-configs/sources/moon", 404)


def test_a_removal_is_confirmed_as_it_was_shown(browser, settings, tmp_path):
    settings.AGENT_CONFIGS_PATH = str(tmp_path)
    AgentConfigFolder.objects.update(pending={"digest": "d2", "documents": ["folder/acme/a.yaml"]})

    other = browser.post("/agent-configs/sources/folder", {"digest": "d1", "reason": "Meant."})
    assert AgentConfigFolder.objects.get().confirmed_digest == ""
    browser.post("/agent-configs/sources/folder", {"digest": "d2", "reason": "Meant."})

    assert other.status_code == 404
    assert AgentConfigFolder.objects.get().confirmed_digest == "d2"


@pytest.mark.parametrize(
    ("status", "word"), [("True", "reachable"), ("False", "unreachable"), ("Unknown", "unknown")]
)
def test_a_document_tells_whether_its_endpoints_answer(browser, status, word):
    row = AgentConfigStatus.objects.get(document__team="acme")
    for condition in row.conditions:
        if condition["type"] == "Reachable":
            condition.update(status=status, reason="Asked", message="Said the probe.")
    row.save()

    page = page_text(browser, "/agent-configs/documents/api/acme/agents")
    assert f'class="state {word}" title="Asked"' in page
    assert "Said the probe." in page
    assert f'class="state {word}"' in page_text(browser, f"/task-types/{TASK}")


def test_a_task_type_tells_who_has_it_where_and_who_lost_by_which_rule(browser):
    listed, type_page = page_text(browser, "/task-types"), page_text(browser, f"/task-types/{TASK}")

    assert '<td data-label="Published by">acme</td>' in listed
    assert "acme-sensor.svc.cluster.local:8000" in type_page
    assert 'href="/agent-configs/documents/api/acme/agents"' in type_page
    assert "api/rival/agents</a>" in type_page
    assert "rule <strong>established</strong>" in type_page
    assert "No registered agent serves" in type_page


def test_a_data_plane_tells_its_stage_and_whom_it_waits_for(browser, api):
    assert "receives changes immediately" in page_text(browser, "/agent-configs/planes/eu")
    api.put("data-planes/us", {"stage": 2})

    waiting = page_text(browser, "/agent-configs/planes/us")
    DataPlane.objects.filter(name="eu").update(applied_revision=F("active_revision"), ack_state="APPLIED")
    settled = page_text(browser, "/agent-configs/planes/us")

    assert 'waits for <a href="/agent-configs/planes/eu">eu</a>' in waiting
    assert "all earlier stages are complete" in settled


def test_the_box_finds_every_mistake_at_its_place_and_keeps_the_text(browser):
    document = text().replace("insecure: true", 'insecure: "yes"').replace("- acme_sensor", "- bad name")

    answer = browser.post(
        "/agent-configs/try", {"team": "acme", "name": "new", "text": document, "check": "1"}
    )

    page = answer.content.decode()
    assert "Document is not valid" in page
    assert "at line 6, column" in page
    assert "at line 8, column" in page
    assert "- bad name" in page
    assert not AgentConfig.objects.filter(name="new").exists()


def test_the_box_says_what_each_data_plane_would_be_given(browser):
    form = {"team": "third", "name": "agents", "text": text("third"), "check": "1"}

    page = browser.post("/agent-configs/try", form).content.decode()

    assert "Data plane eu" in page
    assert "third_sensor" in page.split("Data plane eu")[1]
    assert not AgentConfig.objects.filter(team="third").exists()


def test_the_box_publishes_what_was_seen_and_no_more(browser):
    begun = page_text(browser, "/agent-configs/try?team=acme&name=agents")
    assert 'name="generation" value="1"' in begun
    form = {"team": "acme", "name": "agents", "publish": "1", "reason": "More."}
    changed = text("acme", "acme_other")

    unseen = browser.post("/agent-configs/try", {**form, "text": changed})
    # As browsers end lines.
    published = browser.post(
        "/agent-configs/try", {**form, "text": changed.replace("\n", "\r\n"), "generation": "1"}
    )
    # The browser need not keep what is saved.
    assert 'data-draft-saved="agent-config:' in page_text(browser, published["Location"])
    stale = browser.post("/agent-configs/try", {**form, "text": text("acme"), "generation": "1"})

    assert [unseen.status_code for unseen in (unseen, published, stale)] == [412, 302, 412]
    row = AgentConfig.objects.get(team="acme")
    assert (row.generation, row.text, row.changed_by) == (2, changed, "jane")
    assert "acme_sensor" in stale.content.decode()


def test_who_publishes_for_nobody_is_told_so(browser):
    editor = logged_in("eve", Role.EDITOR)

    answer = editor.post("/agent-configs/try", {"team": "acme", "name": "x", "text": text(), "check": "1"})

    assert answer.status_code == 403
    assert "is not a publisher of" in answer.content.decode()
    assert editor.get("/agent-configs/leave-out/api/acme/agents").status_code == 403


def test_another_organisations_documents_are_not_shown(browser, api):
    api.put("agent-config-teams/acme", {"publishers": ["jane"], "organisation": "acme-inc"})
    viewer = logged_in("vera", Role.VIEWER)

    assert "acme" not in page_text(viewer, "/agent-configs").split("<tbody>")[1]
    assert page_text(viewer, "/agent-configs/documents/api/acme/agents", 404)
    assert page_text(viewer, "/agent-configs/planes", 403)


@pytest.mark.parametrize(
    ("conditions", "conflicts", "word"),
    [
        ([("Programmed", "True")], [], "active"),
        ([("Programmed", "True")], [{}], "conflict"),
        ([("Accepted", "False")], [], "rejected"),
        ([("Programmed", "False"), ("Valid", "True")], [], "pending"),
        ([], [], "pending"),
    ],
)
def test_how_a_document_stands_in_one_word(conditions, conflicts, word):
    entries = [{"type": kind, "status": status} for kind, status in conditions]

    assert document_status.summarize(entries, conflicts) == word


def test_a_difference_tells_lines_apart():
    assert plane_pages.diff("a\nb", "a\nc") == [
        ("place", "@@ -1,2 +1,2 @@"),
        ("same", " a"),
        ("gone", "-b"),
        ("added", "+c"),
    ]
