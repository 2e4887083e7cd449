"""Service providers through HTTP: the table of the contract, leases, health, and what agents show of it."""

import uuid
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from registry.agents.models import Agent, Lease, SweepRecord
from registry.providers.expiry import expire_providers
from registry.providers.models import Provider, ProviderChange
from tests.support.api_client import AGENT, Api, token_for

VM = {
    "name": "vm-provider",
    "endpoint": "http://kubevirt:8081/vms",
    "service_type": "vm",
    "schema_version": "v1alpha1",
}
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def agent_api(db):
    return Api(token_for("agent"))


@pytest.fixture
def path(agent_api):
    body = {**AGENT, "service_types": ["vm", "container"]}
    return f"agents/{agent_api.post('agents', body).json()['agent_id']}"


def register(api, path, query="", **changes):
    return api.post(f"{path}/providers{query}", {**VM, **changes})


def report(api, path, status, name="vm-provider", service_type="vm", **more):
    body = {"name": name, "service_type": service_type, "status": status, **more}
    return api.put(f"{path}/heartbeat", {**BEAT, "providers": [body]})


def long_up():
    """We have been there for long, so that leases may end."""
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(hours=1))


def silence(seconds=1000):
    """Nobody has named any provider for so long; the agent itself beats."""
    Provider.objects.update(expires_at=Now() - timedelta(seconds=seconds))
    Lease.objects.filter(vouched_at__isnull=False).update(vouched_at=Now() - timedelta(seconds=seconds))
    Agent.objects.update(state_since=Now() - timedelta(hours=1))


def condition(api, path):
    return {
        service_type_condition["service_type"]: service_type_condition["status"]
        for service_type_condition in api.get(path).json()["service_type_conditions"]
    }


def test_registering_is_201_and_again_200_with_the_same_id(agent_api, path):
    first, again = register(agent_api, path), register(agent_api, path)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert uuid.UUID(first.json()["id"]).version == 4
    assert first.json()["path"] == f"providers/{first.json()['id']}"
    assert (first.json()["type"], first.json()["status"]) == ("external", "unhealthy")
    for name, value in VM.items():
        assert first.json()[name] == value
    body = {k: v for k, v in agent_api.get(first["Location"]).json().items() if k != "lease_expires_at"}
    assert body == {k: v for k, v in again.json().items() if k != "lease_expires_at"}


def test_names_and_types_are_trimmed_before_they_are_keys(agent_api, path):
    register(agent_api, path)

    again = register(agent_api, path, name="  vm-provider ", service_type=" vm\t".strip("\t"))

    assert again.status_code == 200
    assert Provider.objects.count() == 1


def test_a_chosen_id_is_kept_and_belongs_to_its_name(agent_api, path):
    first = register(agent_api, path, "?id=kubevirt-1")

    assert (first.status_code, first.json()["id"]) == (201, "kubevirt-1")
    assert register(agent_api, path, "?id=kubevirt-1").status_code == 200
    other_id = register(agent_api, path, "?id=kubevirt-2")
    other_name = register(agent_api, path, "?id=kubevirt-1", name="x", service_type="storage")
    assert [(response.status_code, response.json()["code"]) for response in (other_id, other_name)] == [
        (409, "name_taken")
    ] * 2


def test_a_type_that_is_served_is_409_and_names_the_holder(agent_api, path):
    register(agent_api, path, "?id=p1")

    answer = register(agent_api, path, name="other")

    assert (answer.status_code, answer.json()["code"]) == (409, "service_type_taken")
    assert answer.json()["detail"] == "service type 'vm' is already served by provider 'vm-provider'"
    assert answer.json()["holder"] == {"id": "p1", "name": "vm-provider"}
    assert Provider.objects.count() == 1


def test_another_agent_has_slots_of_its_own(agent_api, path):
    register(agent_api, path, "?id=p1")
    second = agent_api.post("agents", {**AGENT, "name": "a2", "topic_name": "dcm.agent.a2"}).json()

    assert register(agent_api, f"agents/{second['agent_id']}", "?id=p1").status_code == 201


def test_a_changed_type_frees_the_old_one_if_the_new_one_is_free(agent_api, path):
    register(agent_api, path)
    register(agent_api, path, name="disks", service_type="storage")

    conflict = register(agent_api, path, service_type="storage")
    moved = register(agent_api, path, service_type="cluster")
    freed = register(agent_api, path, name="new-vm")

    assert [response.status_code for response in (conflict, moved, freed)] == [409, 200, 201]
    assert set(condition(agent_api, path)) == {"cluster", "storage", "vm"}


@pytest.mark.parametrize(
    ("change", "query", "status", "pointer"),
    [
        ({"name": " "}, "", 400, "/name"),
        ({"name": 5}, "", 400, "/name"),
        ({"service_type": ""}, "", 400, "/service_type"),
        ({"surprise": 1}, "", 400, "/surprise"),
        ({"type": "remote"}, "", 400, "/type"),
        ({"operations": "create"}, "", 400, "/operations"),
        ({"metadata": []}, "", 400, "/metadata"),
        ({"schema_version": "alpha"}, "", 422, "/schema_version"),
        ({"endpoint": "not a uri"}, "", 422, "/endpoint"),
        ({"endpoint": "http://me:secret@kubevirt/vms"}, "", 422, "/endpoint"),
        ({}, "?id=Upper", 422, "?id"),
    ],
)
def test_malformed_is_400_and_impossible_422(agent_api, path, change, query, status, pointer):
    answer = register(agent_api, path, query, **change)

    assert answer.status_code == status
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not Provider.objects.exists()


def test_only_the_agents_own_token_and_editors_change_its_providers(agent_api, path):
    register(agent_api, path, "?id=p1")
    thief = Api(token_for("agent"))

    assert register(thief, path).status_code == 403
    assert thief.delete(f"{path}/providers/p1").status_code == 403
    assert register(Api(token_for("viewer")), path).status_code == 403
    assert register(Api(token_for("editor")), path).status_code == 200
    assert thief.get(f"{path}/providers/p1").status_code == 200


def test_what_is_unknown_is_404(agent_api, path):
    nowhere = f"agents/{uuid.uuid4()}"

    codes = [
        answer.json()["code"]
        for answer in (
            register(agent_api, nowhere),
            agent_api.get(f"{nowhere}/providers"),
            agent_api.get(f"{path}/providers/none"),
            agent_api.get(f"{path}/providers/none/history"),
            agent_api.delete(f"{path}/providers/none"),
        )
    ]

    assert codes == ["unknown_agent"] * 2 + ["unknown_provider"] * 3


def test_providers_are_listed_by_name(agent_api, path):
    for name, service_type in (("b", "vm"), ("a", "storage"), ("c", "cluster")):
        register(agent_api, path, name=name, service_type=service_type)
    report(agent_api, path, "ready", name="b")

    listed = agent_api.get(f"{path}/providers?limit=2").json()
    rest = agent_api.get(f"{path}/providers?limit=2&cursor={listed['next_cursor']}").json()

    assert [item["name"] for item in listed["items"] + rest["items"]] == ["a", "b", "c"]
    ready = agent_api.get(f"{path}/providers?status=ready").json()["items"]
    assert [provider["name"] for provider in ready] == ["b"]


def test_a_dry_run_registers_nothing(agent_api, path):
    answer = register(agent_api, path, "?dry_run=true")

    assert (answer.status_code, answer["Dry-Run"]) == (201, "true")
    assert not Provider.objects.exists()
    assert not Event.objects.filter(type__startswith="provider").exists()


def test_the_first_report_makes_a_new_provider_ready(agent_api, path):
    register(agent_api, path, "?id=p1")

    report(agent_api, path, "Ready")

    body = agent_api.get(f"{path}/providers/p1").json()
    assert (body["status"], body["status_reason"]) == ("ready", "Reported by the agent: ready.")
    assert body["last_check_time"]
    assert condition(agent_api, path) == {"vm": "ready"}


def test_failures_are_counted_although_the_report_stays_the_same(agent_api, path):
    register(agent_api, path, status="ready")

    states_heard = []
    for name in ("unavailable",) * 3 + ("ready",) * 2 + ("unhealthy",):
        report(agent_api, path, name)
        states_heard.append(condition(agent_api, path)["vm"])

    assert states_heard == ["ready", "ready", "unavailable", "unavailable", "ready", "unhealthy"]


def test_the_agents_own_count_of_probes_counts_at_once(agent_api, path):
    register(agent_api, path, status="ready")

    report(agent_api, path, "unavailable", probes=3, message="Connection refused.")

    provider = agent_api.get(f"{path}/providers").json()["items"][0]
    assert (provider["status"], provider["status_reason"]) == ("unavailable", "Connection refused.")


def test_an_unavailable_provider_withholds_its_type_and_an_unhealthy_one_does_not(agent_api, path):
    register(agent_api, path, status="ready")

    def listed():
        return [agent["name"] for agent in agent_api.get("agents?service_type=vm").json()["items"]]

    report(agent_api, path, "unhealthy")
    assert (agent_api.get(path).json()["advertised_service_types"], listed()) == (["vm", "container"], ["a1"])
    report(agent_api, path, "unavailable", probes=3)
    assert (agent_api.get(path).json()["advertised_service_types"], listed()) == (["container"], [])
    assert agent_api.get(path).json()["service_types"] == ["vm", "container"]
    report(agent_api, path, "ready", probes=2)
    assert (agent_api.get(path).json()["advertised_service_types"], listed()) == (["vm", "container"], ["a1"])


def test_a_dead_providers_type_can_be_claimed_after_the_lease_and_never_before(agent_api, path):
    register(agent_api, path, "?id=p1", status="ready")
    long_up()

    Provider.objects.update(expires_at=Now() + timedelta(seconds=20))
    before = register(agent_api, path, name="heir")
    silence(seconds=1)
    after = register(agent_api, path, "?id=p2", name="heir")

    assert (before.status_code, after.status_code) == (409, 201)
    old = agent_api.get(f"{path}/providers/p1").json()
    assert (old["status"], old["holds_service_type"]) == ("unavailable", False)
    assert register(agent_api, path, "?id=p1").status_code == 409
    assert condition(agent_api, path) == {"vm": "unhealthy"}


def test_nobody_claims_a_type_while_we_may_not_have_heard_its_provider(agent_api, path):
    register(agent_api, path)
    silence()

    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=80))
    assert register(agent_api, path, name="heir").status_code == 409
    SweepRecord.objects.update(
        last_sweep_at=Now() - timedelta(hours=1), reachable_since=Now() - timedelta(days=1)
    )
    assert register(agent_api, path, name="heir").status_code == 409


def test_the_sweep_frees_a_type_once_and_says_so(agent_api, path):
    register(agent_api, path, "?id=p1", status="ready")
    long_up()
    assert expire_providers() == 0
    silence()

    assert [expire_providers(), expire_providers()] == [1, 0]

    events = Event.objects.filter(type="provider.expired")
    assert [event.data["from"] for event in events] == ["ready"]
    assert agent_api.get(path).json()["advertised_service_types"] == ["container"]
    assert register(agent_api, path, name="heir").status_code == 201


def test_a_provider_that_comes_back_takes_its_type_again(agent_api, path):
    register(agent_api, path, "?id=p1", status="ready")
    long_up()
    silence()
    expire_providers()

    back = register(agent_api, path, status="ready")

    assert (back.status_code, back.json()["id"], back.json()["status"]) == (200, "p1", "ready")
    assert back.json()["holds_service_type"]
    assert agent_api.get(path).json()["advertised_service_types"] == ["vm", "container"]


def test_registering_again_renews_the_lease_without_an_audit_record(agent_api, path):
    register(agent_api, path, "?id=p1")
    Provider.objects.update(expires_at=Now() - timedelta(seconds=10))

    again = register(agent_api, path, "?id=p1")

    assert again.json()["lease_expires_at"] > agent_api.get(path).json()["last_heartbeat"]
    assert Provider.objects.filter(expires_at__gt=Now() + timedelta(seconds=80)).exists()
    assert AuditRecord.objects.filter(object_type="provider").count() == 1


def test_a_heartbeat_whose_report_names_it_renews_its_lease(agent_api, path):
    register(agent_api, path, "?id=p1")
    long_up()
    report(agent_api, path, "ready")
    silence(seconds=80)
    before = agent_api.get(f"{path}/providers/p1").json()["lease_expires_at"]

    report(agent_api, path, "ready")

    assert agent_api.get(f"{path}/providers/p1").json()["lease_expires_at"] > before
    assert expire_providers() == 0
    # A heartbeat that names nobody renews nothing.
    silence(seconds=100)
    agent_api.put(f"{path}/heartbeat", BEAT)
    assert expire_providers() == 1


def test_a_report_that_names_it_no_more_lets_the_lease_run_out(agent_api, path):
    register(agent_api, path, "?id=p1")
    report(agent_api, path, "ready")
    Provider.objects.update(expires_at=Now() - timedelta(seconds=60))
    Lease.objects.update(vouched_at=Now() - timedelta(seconds=50))
    vouched = agent_api.get(f"{path}/providers/p1").json()["lease_expires_at"]

    report(agent_api, path, "ready", name="other", service_type="storage")
    report(agent_api, path, "ready", name="other", service_type="storage")

    assert agent_api.get(f"{path}/providers/p1").json()["lease_expires_at"] == vouched


def test_an_endpoint_that_changes_makes_the_provider_prove_itself_again(agent_api, path):
    register(agent_api, path, status="ready")

    moved = register(agent_api, path, endpoint="http://elsewhere/vms")

    assert moved.json()["status"] == "unhealthy"
    report(agent_api, path, "ready")
    assert condition(agent_api, path) == {"vm": "ready"}


def test_a_provider_is_taken_away_with_a_record_and_its_history_stays(agent_api, path):
    register(agent_api, path, "?id=p1", status="ready")
    report(agent_api, path, "unhealthy", message="Slow.")

    answer = agent_api.delete(f"{path}/providers/p1?change_message=Moved.")

    assert answer.status_code == 204
    assert agent_api.get(f"{path}/providers/p1").status_code == 404
    assert condition(agent_api, path) == {}
    history = agent_api.get(f"{path}/providers/p1/history").json()["items"]
    assert [(one["old_status"], one["new_status"], one["reason"]) for one in history] == [
        ("unhealthy", "", "Removed."),
        ("ready", "unhealthy", "Slow."),
        ("", "ready", "Reported at registration."),
    ]
    record = AuditRecord.objects.get(action="provider.removed")
    assert (record.reason, record.before["name"], record.after) == ("Moved.", "vm-provider", None)


def test_each_change_is_one_event_and_an_unchanged_report_none(agent_api, path):
    register(agent_api, path, "?id=p1")
    for name in ("ready", "ready", "unhealthy", "unhealthy"):
        report(agent_api, path, name)

    types = Event.objects.filter(object_type="provider").order_by("position").values_list("type", flat=True)
    assert list(types) == ["provider.registered", "provider.ready", "provider.unhealthy"]
    assert ProviderChange.objects.count() == 3


def test_a_report_without_registered_providers_costs_no_more_than_one_look(
    agent_api, path, django_assert_num_queries
):
    report(agent_api, path, "ready", name="unheard-of")

    with django_assert_num_queries(6):
        report(agent_api, path, "ready", name="unheard-of")


def test_an_agent_says_which_task_types_it_serves(agent_api):
    spark = {"name": "spark", "version": "v1"}
    for name, served in (
        ("a1", [spark, {"name": "spark", "version": "v2"}]),
        ("a2", [spark, {"name": "ray"}]),
    ):
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", "task_types": served}
        agent = agent_api.post("agents", body).json()
        assert agent["task_types"] == [{"version": "", **task_type} for task_type in served]
    Agent.objects.filter(name="a2").update(state="unavailable")

    unpublished = {"teams": [], "data_planes": 0}
    listed = agent_api.get("task-types").json()["items"]
    spark = agent_api.get("task-types/spark").json()

    assert listed == [
        {"name": "ray", "versions": [""], "agents": 1, "live_agents": 0, **unpublished},
        {"name": "spark", "versions": ["v1", "v2"], "agents": 2, "live_agents": 1, **unpublished},
    ]
    assert (spark["name"], spark["published"]) == ("spark", [])
    assert [(item["version"], item["agent"], item["health_status"]) for item in spark["items"]] == [
        ("v1", "a1", "ready"),
        ("v1", "a2", "unavailable"),
        ("v2", "a1", "ready"),
    ]
    assert len(agent_api.get("task-types/spark?version=v2").json()["items"]) == 1
    missing = agent_api.get("task-types/Spar_k").json()
    assert (missing["code"], "Did you mean 'spark'?" in missing["detail"]) == ("unknown_task_type", True)
    first = agent_api.get("task-types?limit=1").json()
    assert agent_api.get(f"task-types?limit=1&cursor={first['next_cursor']}").json()["items"] == listed[1:]


def test_registering_again_keeps_the_date_of_what_stays(agent_api):
    body = {**AGENT, "task_types": [{"name": "spark"}, {"name": "ray"}]}
    agent_api.post("agents", body)
    before = agent_api.get("task-types/spark").json()["items"]

    agent_api.post("agents", {**body, "task_types": [{"name": "spark"}, {"name": "dask"}]})

    assert agent_api.get("task-types/spark").json()["items"] == before
    assert [task_type["name"] for task_type in agent_api.get("task-types").json()["items"]] == [
        "dask",
        "spark",
    ]
    agent_api.post("agents", AGENT)
    assert agent_api.get("task-types").json()["items"] == []


def test_a_bad_task_type_is_named(agent_api):
    answer = agent_api.post("agents", {**AGENT, "task_types": [{"name": "a b"}]})

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/task_types/0/name"]


def test_providers_are_counted_for_prometheus(agent_api, path):
    register(agent_api, path, status="ready")
    register(agent_api, path, name="disks", service_type="storage")

    figures = Api(token_for("viewer")).get("/metrics").content.decode()

    assert 'cp_service_providers{state="ready"} 1.0' in figures
    assert 'cp_service_providers{state="unhealthy"} 1.0' in figures
