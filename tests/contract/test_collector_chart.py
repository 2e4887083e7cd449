"""The chart of the collector, without helm: its recorded renderings, and the schema of its values."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from controlplane import __version__
from registry.agent_configs.sources.collector.__main__ import _parser
from tests.support.chart import (
    COLLECTOR_CASES,
    COLLECTOR_CHART,
    COLLECTOR_RENDERINGS,
    kubernetes_validator,
)

VALUES = yaml.safe_load((COLLECTOR_CHART / "values.yaml").read_text())
SCHEMA = json.loads((COLLECTOR_CHART / "values.schema.json").read_text())
GIVEN = {"url": "https://cp.example.com", "cluster": "eu", "namespaces": ["acme"]}
GIVEN |= {"token": {"existingSecret": "token", "key": "token"}}


def documents(case: str, kind: str = "") -> list[dict[str, Any]]:
    every = yaml.safe_load_all((COLLECTOR_RENDERINGS / f"{case}.yaml").read_text())
    return [document for document in every if document and kind in ("", document["kind"])]


def container(case: str) -> dict[str, Any]:
    (deployment,) = documents(case, "Deployment")
    return deployment["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("case", COLLECTOR_CASES)
@pytest.mark.parametrize("version", ["1.31", "1.35"])
def test_kubernetes_accepts_every_object(case, version):
    assert len(documents(case)) >= 5
    for document in documents(case):
        kubernetes_validator(document["kind"], document["apiVersion"], version).validate(document)


@pytest.mark.parametrize("case", COLLECTOR_CASES)
def test_no_process_has_an_environment_so_no_login_of_a_database(case):
    assert "env" not in container(case)
    assert "envFrom" not in container(case)
    text = (COLLECTOR_RENDERINGS / f"{case}.yaml").read_text().lower()
    assert not [word for word in ("database", "postgres", "redis", "secret_key") if word in text]


@pytest.mark.parametrize("case", COLLECTOR_CASES)
def test_the_pod_is_confined(case):
    (deployment,) = documents(case, "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 10001)
    security = container(case)["securityContext"]
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("case", COLLECTOR_CASES)
def test_its_roles_read_config_maps_and_write_events(case):
    roles = documents(case, "Role") + documents(case, "ClusterRole")
    allowed = {
        (resource, verb)
        for role in roles
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    reads = {("configmaps", verb) for verb in ("get", "list", "watch")}
    assert allowed - {("events", "create"), ("events", "patch")} == reads
    assert {role["metadata"].get("namespace") for role in roles} in ({None}, {"acme", "sensors"})


@pytest.mark.parametrize("case", COLLECTOR_CASES)
def test_the_program_takes_its_arguments(case):
    options = _parser().parse_args(container(case)["args"])
    assert (options.cluster, options.probe_port) == ("eu-prod", 8090)
    assert options.namespace in (["acme", "sensors"], ["*"])
    assert options.events is (case == "namespaces")


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://cp.example.com"},
        {"url": ""},
        {"cluster": "x" * 41},
        {"token": {"existingSecret": "", "key": "token"}},
        {"namespaces": []},
        {"database": {"url": "postgresql://"}},
    ],
)
def test_wrong_values_are_refused(wrong):
    jsonschema.validate({**VALUES, **GIVEN}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**VALUES, **GIVEN, **wrong}, SCHEMA)


def test_the_chart_has_the_version_of_the_program():
    chart = yaml.safe_load((COLLECTOR_CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
