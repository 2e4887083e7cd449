"""Endpoints that answer, and those that do not, against servers of our own; what documents are told."""

from __future__ import annotations

import ipaddress
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from flyteidl.admin.agent_pb2 import Agent as AgentMessage
from flyteidl.admin.agent_pb2 import ListAgentsRequest, ListAgentsResponse, TaskCategory
from flyteidl.service.agent_pb2_grpc import add_AgentMetadataServiceServicer_to_server
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from controlplane.events.models import Event
from registry.agent_configs.publishing.preview import PreviewChange, preview_changes
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.reachability.check import check_endpoints
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.reachability.probe import ProbeRules, probe
from tests.integration.registry.agent_configs.publishing.test_publish import (  # noqa: F401
    condition,
    name,
    plane,
    publish,
    served,
    text,
)
from tests.support.api_client import ACTOR, ADMINISTRATOR

HERE = [ipaddress.ip_network("127.0.0.0/8")]
RULES = ProbeRules(HERE, seconds=0.5)


class Agent:
    """A gRPC server on a port of its own, with health or without."""

    def __init__(
        self,
        *,
        with_health: bool = True,
        tls: tuple[bytes, bytes] | None = None,
        lists: list[str] | None = None,
    ) -> None:
        self.server = grpc.server(ThreadPoolExecutor(2))
        self.lists = lists
        if lists is not None:
            add_AgentMetadataServiceServicer_to_server(self, self.server)
        self.health = health.HealthServicer()
        if with_health:
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self.server)
        if tls:
            self.port = self.server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([tls]))
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ListAgents(self, request: ListAgentsRequest, context: object) -> ListAgentsResponse:
        """Half of the task types as older agents list them, and half as newer ones do."""
        old, new = self.lists[::2], [TaskCategory(name=name) for name in self.lists[1::2]]
        listed = AgentMessage(name="one", supported_task_types=old, supported_task_categories=new)
        return ListAgentsResponse(agents=[listed])

    # The methods of the service that nobody calls.
    GetAgent = ListAgents

    def says(self, status: str) -> None:
        self.health.set("", health_pb2.HealthCheckResponse.ServingStatus.Value(status))


@pytest.fixture
def start():
    started: list[Agent] = []

    def begin(**said) -> Agent:
        started.append(Agent(**said))
        return started[-1]

    yield begin
    for agent_server in started:
        agent_server.server.stop(None)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of the name agent.test; its own root."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=agent.test", "-addext", "subjectAltName=DNS:agent.test", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return folder / "key.pem", folder / "cert.pem"


@pytest.fixture
def silent():
    """Takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def status_of(endpoint: str, *, insecure: bool = True, rules: ProbeRules = RULES) -> tuple[str, str]:
    probed = probe(endpoint, insecure=insecure, rules=rules)
    return probed.status.value, probed.reason


def test_an_agent_that_answers_is_reachable_with_health_or_without(start):
    assert status_of(start().endpoint) == ("True", "Reachable")
    assert status_of(f"dns:///{start(with_health=False).endpoint}") == ("True", "Reachable")


def test_what_does_not_answer_as_an_agent_is_told_by_its_step(start, silent):
    ill = start()
    ill.says("NOT_SERVING")
    gone = socket.create_server(("127.0.0.1", 0))
    port = gone.getsockname()[1]
    gone.close()

    assert status_of(ill.endpoint) == ("False", "NotServing")
    assert status_of(f"127.0.0.1:{port}") == ("False", "ConnectFailed")
    assert status_of(f"127.0.0.1:{silent.getsockname()[1]}") in [("False", "TimedOut"), ("False", "NotGRPC")]
    assert status_of(f"127.0.0.1:{silent.getsockname()[1]}", insecure=False) == ("False", "TimedOut")
    assert status_of(start().endpoint, insecure=False) == ("False", "TLSFailed")


def test_tls_is_checked_by_the_name_that_was_published(start, certificate, monkeypatch):
    key, cert = certificate
    agent = start(tls=(key.read_bytes(), cert.read_bytes()))
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", agent.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: answers)
    trusting = ProbeRules(HERE, seconds=0.5, roots=str(cert))

    assert status_of(f"agent.test:{agent.port}", insecure=False, rules=trusting) == ("True", "Reachable")
    assert status_of(f"other.test:{agent.port}", insecure=False, rules=trusting) == ("False", "TLSFailed")
    assert status_of(f"agent.test:{agent.port}", insecure=False) == ("False", "TLSFailed")


def test_what_may_not_be_asked_is_never_connected_to(monkeypatch):
    """Neither refused addresses, nor a name that changes its mind once it was checked."""
    connected = []

    def refuse(address, *args):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    for host in ("127.0.0.1", "169.254.169.254", "10.1.2.3", "[::1]", "168.63.129.16", "[::ffff:10.0.0.1]"):
        assert status_of(f"{host}:8000", rules=ProbeRules()) == ("Unknown", "AddressNotAllowed")
    assert status_of("8.8.8.8:5432", rules=ProbeRules(ports=((8000, 8999),))) == ("Unknown", "PortNotAllowed")
    assert status_of("k8s://agent.acme:grpc") == ("Unknown", "OnlyInCluster")
    assert status_of("nobody.invalid:8000") == ("Unknown", "NotResolved")
    assert connected == []

    answers = iter([[(0, 0, 0, "", ("8.8.8.8", 8000))], [(0, 0, 0, "", ("127.0.0.1", 8000))]])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: next(answers))
    assert status_of("rebinding.test:8000", rules=ProbeRules()) == ("False", "ConnectFailed")
    assert connected == [("8.8.8.8", 8000)]


@pytest.fixture
def probing(plane, settings):  # noqa: F811
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.AGENT_CONFIGS_ALLOWED_HOSTS = ["127.0.0.0/8"]
    settings.AGENT_PROBE_PORTS = [(1, 65535)]
    settings.AGENT_PROBE_TIMEOUT_SECONDS = 0.5
    return settings


def look(times: int = 1) -> int:
    """Everything is due at once."""
    changed = 0
    for _ in range(times):
        AgentEndpoint.objects.update(due_at="2020-01-01T00:00Z")
        changed += check_endpoints()
    return changed


def status_changes() -> list[tuple[str, str]]:
    events = Event.objects.filter(type="agent_config.status_changed", data__condition="Reachable")
    return [(event.data["status"], event.data["data_plane"]) for event in events.order_by("position")]


def reachable(team: str = "acme") -> tuple[str, str]:
    reachable_condition = condition(team, "Reachable")
    return reachable_condition["status"], reachable_condition["reason"]


@pytest.mark.django_db(transaction=True)
def test_a_document_tells_whether_its_agents_answer_and_only_transitions_are_events(probing, start):
    agent = start()
    publish("acme", text("acme-sensor", "acme_sensor", endpoint=agent.endpoint, insecure="true"))
    before = served()
    assert reachable() == ("Unknown", "NotProbed")

    check_endpoints()
    assert look() == 1
    assert (reachable(), status_changes()) == (("True", "Reachable"), [])
    agent.says("NOT_SERVING")
    assert (look(2), reachable()[0]) == (0, "True")
    assert (look(4), reachable()) == (1, ("False", "Unreachable"))
    since = condition("acme", "Reachable")["last_transition_at"]
    look(2)
    assert condition("acme", "Reachable")["last_transition_at"] == since
    agent.says("SERVING")
    look(2)

    assert (reachable()[0], status_changes()) == ("True", [("False", ""), ("True", "")])
    assert condition("acme", "Reachable")["observed_generation"] == 1
    assert served() == before


@pytest.mark.django_db(transaction=True)
def test_a_task_type_that_its_agent_does_not_list_is_a_warning(probing, start):
    agent = start(lists=["Acme_Sensor", "acme_chain", "someone_elses"])
    types = ("acme_sensor", "acme_chain", "acme_new")
    publish("acme", text("acme-sensor", *types, endpoint=agent.endpoint, insecure="true"))
    publish("beta", text("beta-sensor", "beta_sensor", endpoint=start().endpoint, insecure="true"))
    before = served()

    look(2)

    assert reachable() == ("True", "TaskTypeNotServed")
    message = condition("acme", "Reachable")["message"]
    assert "the task types acme_new." in message
    assert "someone_elses" not in message
    assert (reachable("beta"), served()) == (("True", "Reachable"), before), "It lists nothing."
    agent.lists = [*agent.lists, "acme_new"]
    assert look() == 1
    assert (reachable(), status_changes()) == (("True", "Reachable"), [])


@pytest.mark.django_db(transaction=True)
def test_endpoints_follow_documents_and_two_who_look_never_ask_the_same(probing, start):
    agent = start()
    publish("acme", text("acme-sensor", "acme_sensor", endpoint=agent.endpoint, insecure="true"))
    publish("beta", text("beta-sensor", "beta_sensor", endpoint=agent.endpoint, insecure="true"))
    look()
    check_endpoints()
    assert AgentEndpoint.objects.count() == 1
    AgentEndpoint.objects.update(due_at="2020-01-01T00:00Z", streak=0)

    both = [threading.Thread(target=check_endpoints) for _ in range(2)]
    for agent_server in both:
        agent_server.start()
    for agent_server in both:
        agent_server.join()

    assert AgentEndpoint.objects.get().streak == 1
    publish("acme", text("acme-sensor", "acme_sensor"))
    publish("beta", text("beta-sensor", "beta_sensor"))
    check_endpoints()
    names = AgentEndpoint.objects.order_by("endpoint").values_list("endpoint", flat=True)
    assert list(names) == ["acme-sensor.svc.cluster.local:8000", "beta-sensor.svc.cluster.local:8000"]


@pytest.mark.django_db(transaction=True)
def test_the_policy_can_keep_new_documents_out_until_their_agents_answer(probing, start):
    probing.AGENT_PROBES = "gate-new"
    agent = start()
    content = text("acme-sensor", "acme_sensor", endpoint=agent.endpoint, insecure="true")
    publish("acme", content)
    assert ("acme-sensor" in served(), condition("acme", "Accepted")["reason"]) == (False, "Unreachable")
    (outcome,) = preview_changes([PreviewChange(name("acme"), content)], ADMINISTRATOR).outcomes
    assert not outcome.is_affected

    check_endpoints()
    look()
    recompute_all(ACTOR)
    assert "acme-sensor" in served()
    agent.says("NOT_SERVING")
    look(3)
    recompute_all(ACTOR)

    assert ("acme-sensor" in served(), reachable()) == (True, ("False", "Unreachable"))
