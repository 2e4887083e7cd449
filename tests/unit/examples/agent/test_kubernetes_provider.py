"""The provider for Kubernetes: it is offered only where the API server offers its kind."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.fake_kubernetes import TOKEN, FakeKubernetes
from tests.support.paths import ROOT
from tests.support.waiting import until

FOLDER = str(ROOT / "examples" / "agent")
ENTRY = {
    "name": "kubernetes-jobs",
    "endpoint": "http://127.0.0.1:1",
    "service_type": "job",
    "schema_version": "v1",
}
JOBS = {"name": "jobs", "verbs": ["create", "delete", "get", "list"]}


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    sys.path.insert(0, FOLDER)
    yield importlib.import_module("kubernetes_provider")
    sys.path.remove(FOLDER)
    for name in ("kubernetes_provider", "provider_http"):
        sys.modules.pop(name, None)


@pytest.fixture
def kubernetes(tmp_path) -> Iterator[FakeKubernetes]:
    server = FakeKubernetes(tmp_path / "kubeconfig")
    yield server
    server.close()


@pytest.fixture
def objects(module, kubernetes, tmp_path) -> Any:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "namespace").write_text("prod")
    url = f"http://127.0.0.1:{kubernetes.server.server_port}"
    return module.Objects(module.Cluster(url, tmp_path), module.Kind("batch/v1", "jobs", "Job"))


def offers(kubernetes: FakeKubernetes, *resources: dict[str, Any], times: int = 1) -> None:
    kubernetes.fail("list", times, body=json.dumps({"resources": resources}).encode())


def test_it_is_listed_only_while_the_cluster_offers_its_kind(module, objects, kubernetes, tmp_path):
    file, other = tmp_path / "providers.json", {"name": "vms", "service_type": "vm"}
    file.write_text(json.dumps([other]))
    stopping = threading.Event()
    kubernetes.fail("list", status=404)
    offers(kubernetes, JOBS)
    # Neither an API server that fails nor one that is away says that the kind is gone.
    kubernetes.fail("list", times=3, status=500)
    thread = threading.Thread(target=module.keep_listed, args=(file, ENTRY, objects, stopping, 0.05))
    thread.start()
    try:
        until(lambda: json.loads(file.read_text()) == [other, ENTRY])
        until(lambda: kubernetes.count("list") >= 4)
        assert json.loads(file.read_text()) == [other, ENTRY]
        offers(kubernetes, {**JOBS, "verbs": ["get"]}, times=50)
        until(lambda: json.loads(file.read_text()) == [other])
    finally:
        stopping.set()
        thread.join()


def test_it_is_healthy_while_the_kind_is_offered(objects, kubernetes):
    offers(kubernetes, JOBS)
    assert objects.health().body == {"status": "healthy"}
    offers(kubernetes)
    assert objects.health().body == {"status": "unhealthy"}
    kubernetes.fail("list", status=403)
    assert objects.health().status == 503
    with kubernetes.down():
        assert objects.health().status == 503


def test_an_object_is_created_read_and_refused(objects, kubernetes):
    made = {"metadata": {"name": "r1", "namespace": "prod", "uid": "u"}, "status": {}}
    kubernetes.fail("event", body=json.dumps(made).encode())
    created = objects.create("r1", {"template": {}})
    assert (created.status, created.body["status"]) == (201, "PROVISIONING")
    assert kubernetes.requests[-1][1] == "/apis/batch/v1/namespaces/prod/jobs"

    kubernetes.fail("event", status=409)
    offers_status = {**made, "status": {"active": 1}}
    kubernetes.fail("list", body=json.dumps(offers_status).encode())
    again = objects.create("r1", {"template": {}})
    assert (again.status, again.body["status"]) == (200, "RUNNING")

    kubernetes.fail("event", status=422)
    assert objects.create("r2", {}).status == 422
    kubernetes.fail("list", status=404)
    assert objects.read("r2").status == 404


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "PROVISIONING"),
        ({"active": 1}, "RUNNING"),
        ({"readyReplicas": 2}, "RUNNING"),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, "RUNNING"),
        ({"active": 1, "conditions": [{"type": "Failed", "status": "True", "message": "no"}]}, "FAILED"),
        ({"conditions": [{"type": "Failed", "status": "False"}]}, "PROVISIONING"),
    ],
)
def test_the_status_follows_from_the_object(module, status, expected):
    assert module.describe({"status": status})["status"] == expected
