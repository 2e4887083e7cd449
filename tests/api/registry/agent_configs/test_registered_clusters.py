"""Registered clusters by HTTP: who registers and reports, what is published, refused and removed."""

from __future__ import annotations

import threading
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now

from controlplane.access import tokens
from controlplane.access.models import AuditRecord, Token
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, put_plane
from registry.agent_configs.models import AgentConfig, AgentConfigStatus
from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.followed_sources import followed_sources
from registry.tasks import recompute_agent_configs
from tests.integration.registry.agent_configs.publishing.test_publish import text
from tests.support.api_client import ACTOR, Api, make_principal, token_for

PREFIX = "flyteplugins-agentservice-"
CREATED = "2026-01-01T00:00:00Z"
EU = "agent-config-clusters/eu"


@pytest.fixture(autouse=True)
def at_once(db, settings):
    settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = 0


@pytest.fixture
def admin(db) -> Api:
    return Api(token_for(Role.ADMIN))


def api_of(name: str, *roles: str) -> Api:
    secret = tokens.new_token(tokens.Prefix.PERSONAL)
    principal = make_principal(*roles, name=name)
    Token.objects.create(
        principal=principal, name="test", hint=tokens.hint(secret), digest=tokens.digest(secret)
    )
    return Api(secret)


def register(admin: Api, name: str, *namespaces: str) -> Api:
    """Return a client with the token of the cluster's principal."""
    api = api_of(f"cluster-{name}", Role.ADMISSION)
    body = {"principal": f"cluster-{name}", "namespaces": namespaces or ("acme", "beta")}
    answer = admin.put(f"agent-config-clusters/{name}", body)
    assert answer.status_code == 201, answer.content
    return api


@pytest.fixture
def eu(admin) -> Api:
    return register(admin, "eu")


COLLECTOR = {"id": str(uuid4()), "name": "collector-0", "version": "0.2.0", "counts": {"lists": 1}}


def listed(place: str, content: str, **more: Any) -> dict[str, Any]:
    namespace, name = place.split("/")
    raw = content.encode()
    return {
        "namespace": namespace,
        "name": PREFIX + name,
        "sha256": sha256(raw).hexdigest(),
        "size": len(raw),
        "created_at": CREATED,
        **more,
    }


def report(contents: dict[str, str], *, send: tuple[str, ...] | None = None, **more: Any) -> dict[str, Any]:
    """A report of these documents, with the texts of all of them or of those to send."""
    texts = contents if send is None else {place: contents[place] for place in send}
    return {
        "collector": {**COLLECTOR},
        "documents": [listed(place, content) for place, content in contents.items()],
        "texts": [
            {"namespace": place.split("/")[0], "name": PREFIX + place.split("/")[1], "text": content}
            for place, content in texts.items()
        ],
        **more,
    }


def send(api: Api, body: dict[str, Any], cluster: str = "eu", status: int = 200) -> Any:
    answer = api.post(f"agent-config-clusters/{cluster}:report", body)
    assert answer.status_code == status, answer.content
    return answer.json()


def published(cluster: str = "eu") -> set[str]:
    rows = AgentConfig.objects.filter(source=cluster, deleted_at=None)
    return {f"{row.team}/{row.name.removeprefix(PREFIX)}" for row in rows}


SENSORS = {"acme/sensors": text("acme-sensor", "acme_sensor")}
FOUR = {f"acme/n{number}": text(f"agent{number}", f"type{number}") for number in range(4)}


def test_an_administrator_registers_changes_and_removes_a_cluster(admin, eu):
    shown = admin.get(EU)
    assert shown.json()["state"] == "off"
    assert shown.json()["namespaces"] == ["acme", "beta"]

    changed = {"principal": "cluster-eu", "namespaces": ["*"]}
    assert admin.put(EU, changed).status_code == 428
    assert admin.put(EU, changed, If_Match='"v1"').json()["version"] == 2
    assert admin.put(EU, changed, If_Match='"v1"').status_code == 412
    assert [item["name"] for item in admin.get("agent-config-clusters").json()["items"]] == ["eu"]
    assert admin.delete(EU, If_Match='"v2"').status_code == 204
    assert admin.get(EU).json()["code"] == "unknown_agent_config_cluster"

    kinds = [
        "agent_config_cluster.registered",
        "agent_config_cluster.changed",
        "agent_config_cluster.removed",
    ]
    events = Event.objects.filter(object_type="agent_config_cluster", object_id="eu").order_by("id")
    assert [event.type for event in events] == kinds
    assert sorted(AuditRecord.objects.filter(object_id="eu").values_list("action", flat=True)) == sorted(
        kinds
    )


@pytest.mark.parametrize(
    ("name", "body", "pointer"),
    [
        ("kubernetes", {}, "/name"),
        ("api", {}, "/name"),
        ("x" * 41, {}, "/name"),
        ("Eu", {}, "/name"),
        ("us", {"principal": "nobody-of-this-name"}, "/principal"),
        ("us", {"principal": "cluster-eu"}, "/principal"),
        ("us", {"namespaces": []}, "/namespaces"),
        ("us", {"namespaces": ["acme", "No_Namespace"]}, "/namespaces/1"),
        ("us", {"color": "red"}, "/color"),
    ],
)
def test_a_registration_that_cannot_be_is_refused(admin, eu, name, body, pointer):
    make_principal(Role.ADMISSION, name="cluster-us")
    answer = admin.put(
        f"agent-config-clusters/{name}", {"principal": "cluster-us", "namespaces": ["acme"], **body}
    )
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert RegisteredCluster.objects.count() == 1


def test_a_dry_run_registers_nothing(admin):
    make_principal(Role.ADMISSION, name="cluster-us")
    body = {"principal": "cluster-us", "namespaces": ["acme"]}
    assert admin.put("agent-config-clusters/us?dry_run=true", body).status_code == 201
    assert not RegisteredCluster.objects.exists()


def test_only_administrators_of_everything_register(admin, eu):
    for role in (Role.VIEWER, Role.EDITOR, Role.OPERATOR, Role.ADMISSION):
        api = Api(token_for(role))
        assert api.put(EU, {"principal": "cluster-eu", "namespaces": ["*"]}).status_code == 403, role
        assert api.delete(EU).status_code == 403, role
    viewer = Api(token_for(Role.VIEWER)).get(EU).json()
    assert (viewer["principal"], viewer["name"]) == ("", "eu")


def test_texts_are_asked_for_published_and_not_asked_for_again(eu):
    put_plane("plane", DataPlaneSpec(), actor=ACTOR)
    answer = send(eu, report(SENSORS, send=()))
    assert answer["missing"] == [{"namespace": "acme", "name": f"{PREFIX}sensors"}]
    assert published() == set()

    answer = send(eu, report(SENSORS))
    assert (answer["missing"], answer["state"], answer["problems"]) == ([], "current", [])
    (row,) = AgentConfig.objects.filter(source="eu")
    assert str(row.document_id) == f"eu/acme/{PREFIX}sensors"
    assert (row.changed_by, row.created_at.isoformat()) == ("cluster-eu", "2026-01-01T00:00:00+00:00")
    assert [notice["reason"] for notice in answer["outcomes"][0]["notices"]] == ["Accepted"]

    before = Event.objects.count()
    answer = send(eu, report(SENSORS, send=(), known_outcomes=answer["outcomes_version"]))
    assert (answer["missing"], answer["outcomes"]) == ([], None)
    assert Event.objects.count() == before
    assert RegisteredCluster.objects.get().collector == "collector-0"


def test_two_clusters_have_documents_of_the_same_names(admin, eu):
    us = register(admin, "us")
    send(eu, report(SENSORS))
    send(us, report({"acme/sensors": text("us-sensor", "us_sensor")}), "us")
    assert published("eu") == published("us") == {"acme/sensors"}

    send(us, report({}), "us")
    assert (published("eu"), published("us")) == ({"acme/sensors"}, set())
    sources = {item["source"] for item in admin.get("agent-configs").json()["items"]}
    assert sources == {"eu"}
    found = admin.get(f"agent-configs/acme/{PREFIX}sensors?source=eu").json()
    assert (found["source"], found["team"]) == ("eu", "acme")


def test_nobody_but_the_principal_reports(admin, eu):
    us = register(admin, "us")
    body = report(SENSORS)
    for api in (us, admin):
        assert send(api, body, status=404)["code"] == "unknown_agent_config_cluster"
    assert send(eu, body, "nowhere", status=404)["code"] == "unknown_agent_config_cluster"
    send(Api(token_for(Role.VIEWER)), body, status=403)
    assert published() == set()


def test_a_namespace_that_is_not_allowed_is_a_problem_and_nothing_else(eu):
    answer = send(eu, report({**SENSORS, "secret/sensors": text("other", "other_type")}))
    assert published() == {"acme/sensors"}
    assert ["namespace secret: the cluster may not report it" in each for each in answer["problems"]] == [
        True
    ]
    assert answer["missing"] == []


def test_one_document_that_is_too_large_or_invalid_stops_no_other(eu, settings):
    settings.AGENT_CONFIGS_DOCUMENT_BYTES = 2000
    contents = {**SENSORS, "acme/broken": "plugins: [", "acme/huge": "#" * 3000}
    answer = send(eu, report(contents, send=("acme/sensors", "acme/broken")))
    assert published() == {"acme/sensors", "acme/broken"}
    assert answer["missing"] == []
    assert [each.partition(":")[0] for each in answer["problems"]] == [f"acme/{PREFIX}huge"]
    notices = {each["name"].removeprefix(PREFIX): each["notices"][0] for each in answer["outcomes"]}
    assert notices["broken"]["reason"] == "InvalidConfiguration"
    assert (notices["huge"]["reason"], "3000 bytes" in notices["huge"]["note"]) == ("Rejected", True)


def test_a_document_that_was_good_stays_when_it_becomes_too_large(eu, settings):
    send(eu, report(SENSORS))
    settings.AGENT_CONFIGS_DOCUMENT_BYTES = 100
    send(eu, report({"acme/sensors": "#" * 3000}, send=()))
    assert published() == {"acme/sensors"}


def test_what_could_not_be_published_stays_a_problem_until_it_can_be(eu, settings):
    settings.AGENT_CONFIGS_DOCUMENTS_PER_TEAM = 1
    contents = {**SENSORS, "acme/more": text("more", "more_type")}
    first = send(eu, report(contents))
    assert len(published()) == 1
    assert "limit" in first["problems"][0]
    again = send(eu, report(contents, send=()))
    assert again["problems"] == first["problems"]
    assert len(again["missing"]) == 1
    settings.AGENT_CONFIGS_DOCUMENTS_PER_TEAM = 10
    assert send(eu, report(contents))["problems"] == []


WRONG = [
    (lambda body: body["texts"][0].update(text="something else"), "/texts/0/text", "wrong_digest"),
    (lambda body: body["texts"][0].update(name="other"), "/texts/0", "unlisted"),
    (lambda body: body["documents"].append(body["documents"][0]), "/documents", "repeated"),
    (lambda body: body["documents"][0].update(sha256="abc"), "/documents/0/sha256", "invalid"),
    (lambda body: body["documents"][0].update(sha512="abc"), "/documents/0/sha512", "unknown_field"),
    (lambda body: body["documents"][0].update(created_at="today"), "/documents/0/created_at", "invalid"),
    (lambda body: body["collector"].pop("id"), "/collector/id", "required"),
    (
        lambda body: body["collector"].update(counts={str(n): n for n in range(51)}),
        "/collector/counts",
        "max_length",
    ),
    (lambda body: body.update(removed=[]), "/removed", "unknown_field"),
]


@pytest.mark.parametrize(("spoil", "pointer", "code"), WRONG, ids=[f"{p} {c}" for _, p, c in WRONG])
def test_a_malformed_report_changes_nothing(eu, spoil, pointer, code):
    body = report(SENSORS)
    spoil(body)
    (error,) = send(eu, body, status=400)["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
    assert published() == set()
    assert RegisteredCluster.objects.get().checked_at is None


def test_a_report_above_the_limit_is_refused(eu, settings):
    settings.MAX_BUNDLE_BYTES = 2000
    assert send(eu, report({"acme/huge": "#" * 3000}), status=413)["code"] == "body_too_large"


def test_a_namespace_with_an_error_keeps_its_documents(eu):
    send(eu, report({**SENSORS, "beta/sensors": text("beta", "beta_type")}))
    body = report({"beta/sensors": text("beta", "beta_type")}, errors={"acme": "namespace acme: 403"})
    answer = send(eu, body)
    assert published() == {"acme/sensors", "beta/sensors"}
    assert (answer["state"], answer["problems"]) == ("failing", ["namespace acme: 403"])
    assert send(eu, report({}, errors={"*": "all namespaces: 403"}))["state"] == "failing"
    assert published() == {"acme/sensors", "beta/sensors"}


def test_a_mass_removal_waits_for_a_confirmation_of_what_would_go(admin, eu):
    send(eu, report(FOUR))
    answer = send(eu, report({}))
    assert (answer["state"], len(answer["pending"]["documents"])) == ("awaiting_confirmation", 4)
    assert len(published()) == 4
    assert send(eu, report({}))["pending"] == answer["pending"]

    confirmation = {"source": "eu", "digest": answer["pending"]["digest"]}
    assert eu.post("agent-config-sources:confirm", confirmation).status_code == 403
    assert admin.post("agent-config-sources:confirm", {**confirmation, "source": "no"}).status_code == 400
    assert admin.post("agent-config-sources:confirm", confirmation).json()["source"] == "eu"
    assert send(eu, report({}))["state"] == "current"
    assert published() == set()


def test_removals_settle_before_they_are_judged(eu, settings):
    settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = 60
    send(eu, report(FOUR))
    for left in (3, 2, 1, 0):
        answer = send(eu, report(dict(list(FOUR.items())[:left])))
        assert 0 < answer["again_after"] <= 60
    assert len(published()) == 4

    RegisteredCluster.objects.update(gone_since=Now() - timedelta(minutes=10))
    assert send(eu, report({}))["state"] == "awaiting_confirmation"


def test_a_cluster_with_documents_is_removed_once_that_is_confirmed(admin, eu):
    us = register(admin, "us")
    send(eu, report(FOUR))
    send(us, report(FOUR), "us")
    assert admin.delete(f"{EU}?dry_run=true", If_Match='"v1"').status_code == 204
    refused = admin.delete(EU, If_Match='"v1"')
    assert (refused.status_code, refused.json()["code"], refused.json()["affected"]) == (
        409,
        "confirmation_required",
        4,
    )
    assert admin.delete(f"{EU}?confirm=0", If_Match='"v1"').status_code == 409
    assert len(published()) == 4

    assert admin.delete(f"{EU}?confirm={refused.json()['confirm']}", If_Match='"v1"').status_code == 204
    assert (published("eu"), len(published("us"))) == (set(), 4)
    send(eu, report(FOUR), status=404)


def test_the_second_collector_stands_by_until_the_first_is_silent(eu):
    send(eu, report(SENSORS))
    other = {**report({}), "collector": {"id": str(uuid4()), "name": "collector-1"}}
    assert send(eu, other)["state"] == "standby"
    assert published() == {"acme/sensors"}

    RegisteredCluster.objects.update(checked_at=Now() - timedelta(minutes=10))
    assert send(eu, other)["state"] == "current"
    assert published() == set()
    assert send(eu, report(SENSORS))["state"] == "standby"


def test_a_silent_collector_makes_its_documents_stale_and_leaves_others_alone(admin, eu):
    put_plane("plane", DataPlaneSpec(), actor=ACTOR)
    us = register(admin, "us")
    send(eu, report(SENSORS))
    send(us, report({"beta/sensors": text("beta", "beta_type")}), "us")
    RegisteredCluster.objects.filter(name="eu").update(checked_at=Now() - timedelta(minutes=10))

    recompute_agent_configs()

    states = {item["source"]: item for item in admin.get("agent-config-sources").json()["items"]}
    assert (states["eu"]["state"], states["us"]["state"]) == ("failing", "current")
    assert "No collector has reported for 60 s" in states["eu"]["problems"][0]
    assert published() == {"acme/sensors"}
    stale = {
        status.document.source: condition["status"]
        for status in AgentConfigStatus.objects.all()
        for condition in status.conditions
        if condition["type"] == "Stale"
    }
    assert stale == {"eu": "True", "us": "False"}
    assert {source.name: source.is_stale for source in followed_sources()} == {
        "agent configurations: cluster eu": True,
        "agent configurations: cluster us": False,
    }
    assert 'agentcfg_source_synced{source="eu"} 0.0' in admin.get("/metrics").content.decode()
    assert send(eu, report(SENSORS, send=()))["state"] == "current"


def test_a_cluster_that_never_reports_is_silent_too(admin, eu):
    recompute_agent_configs()
    assert RegisteredCluster.objects.get().is_synced
    RegisteredCluster.objects.update(created_at=Now() - timedelta(minutes=10))
    recompute_agent_configs()
    assert admin.get(EU).json()["state"] == "failing"


def review_of(namespace: str, content: str) -> dict[str, Any]:
    name = f"{PREFIX}sensors"
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"agents.yaml": content},
    }
    request = {"uid": "u1", "operation": "CREATE", "name": name, "namespace": namespace, "object": config_map}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_the_webhook_of_a_cluster_reviews_for_that_cluster(admin, eu):
    us = register(admin, "us")
    good = SENSORS["acme/sensors"]

    def reviewed(api: Api, namespace: str, content: str) -> dict[str, Any]:
        return api.post(f"{EU}:admit", review_of(namespace, content)).json()["response"]

    assert reviewed(eu, "acme", good)["allowed"]
    assert reviewed(admin, "acme", good)["allowed"]
    assert not reviewed(eu, "acme", "plugins: [")["allowed"]
    denied = reviewed(eu, "secret", good)
    assert not denied["allowed"]
    assert "may not report the namespace secret" in denied["status"]["message"]
    deletion = review_of("secret", good)
    deletion["request"]["operation"] = "DELETE"
    assert eu.post(f"{EU}:admit", deletion).json()["response"]["allowed"]
    assert us.post(f"{EU}:admit", review_of("acme", good)).status_code == 404
    assert published() == set()


def test_an_update_conflicts_with_others_but_not_with_its_own_document(admin, eu, settings):
    settings.AGENT_CONFIGS_MODE = "open"
    put_plane("plane", DataPlaneSpec(), actor=ACTOR)
    send(eu, report(SENSORS))
    us = register(admin, "us")
    changed = text("acme-sensor", "acme_sensor", "acme_query")
    assert eu.post(f"{EU}:admit", review_of("acme", changed)).json()["response"]["allowed"]
    elsewhere = text("acme-sensor", "acme_sensor", endpoint="us.example.com:8000")
    assert eu.post(f"{EU}:admit", review_of("acme", elsewhere)).json()["response"]["allowed"]
    other = us.post("agent-config-clusters/us:admit", review_of("acme", elsewhere)).json()["response"]
    assert not other["allowed"], other


@pytest.mark.django_db(transaction=True)
def test_two_collectors_that_begin_at_once_make_one_active(admin):
    eu = register(admin, "eu")
    barrier, states = threading.Barrier(4), []

    def begin(number: int) -> None:
        body = {**report(SENSORS), "collector": {"id": str(uuid4()), "name": f"collector-{number}"}}
        barrier.wait(5)
        states.append(send(eu, body)["state"])
        connection.close()

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(states) == ["current", "standby", "standby", "standby"]
    assert AgentConfig.objects.get(source="eu").generation == 1
