"""The Helm chart with helm: it renders what is recorded, lints, packages, and refuses wrong values.

Without helm on the PATH or in .tools, the lane builds it with Go, which takes minutes.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile

import pytest
import yaml

from tests.support.chart import (
    CASES,
    CHART,
    COLLECTOR_CASES,
    COLLECTOR_CHART,
    COLLECTOR_RENDERINGS,
    KUBERNETES,
    build_helm,
    installed_helm,
    recorded,
    render,
    render_collector,
    template,
    without_generated,
)
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(
    installed_helm() is None and shutil.which("go") is None, reason="Neither helm nor Go is installed"
)
SMALL = CHART / "ci" / "small.yaml"


@pytest.fixture(scope="session")
def helm() -> str:
    return installed_helm() or build_helm()


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("case", CASES)
def test_the_recorded_rendering_is_current(helm, case):
    assert without_generated(render(helm, case)) == recorded(case), "run: make chart"


@pytest.mark.parametrize("case", CASES)
def test_helm_finds_nothing_to_warn_of(helm, case):
    values = str(CHART / "ci" / f"{case}.yaml")
    linted = run(helm, "lint", "--strict", "--kube-version", KUBERNETES, str(CHART), "--values", values)

    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize("case", COLLECTOR_CASES)
def test_the_chart_of_the_collector_renders_what_is_recorded(helm, case):
    assert render_collector(helm, case) == (COLLECTOR_RENDERINGS / f"{case}.yaml").read_text(), (
        "run: make chart"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "url=http://controlplane.example.com",
        "cluster=Eu",
        "token.existingSecret=",
        "namespaces=null",
        "database.url=postgresql://",
    ],
)
def test_the_chart_of_the_collector_refuses_wrong_values(helm, wrong):
    values = str(COLLECTOR_CHART / "ci" / "namespaces.yaml")
    answer = template(helm, "--values", values, "--set", wrong, chart=COLLECTOR_CHART)
    assert answer.returncode != 0
    assert "values don't meet the specifications of the schema" in answer.stderr


def test_rules_and_dashboards_are_those_of_the_repository(helm):
    objects = [document for document in yaml.safe_load_all(render(helm, "large")) if document]
    (rules,) = (one for one in objects if one["kind"] == "PrometheusRule")
    (dashboards,) = (one for one in objects if one["metadata"]["name"] == "controlplane-dashboards")

    assert rules["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/controlplane.rules.yml").read_text())
    folder = ROOT / "deploy" / "grafana"
    assert dashboards["data"] == {path.name: path.read_text() for path in folder.glob("*.json")}


def test_templates_for_prometheus_are_left_to_prometheus(helm):
    assert "{{ $labels." in render(helm, "large")


def test_a_package_has_the_linked_files_and_no_value_files_of_tests(helm, tmp_path):
    packaged = run(helm, "package", str(CHART), "--destination", str(tmp_path))
    assert packaged.returncode == 0, packaged.stderr

    (archive,) = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as files:
        names = files.getnames()
        assert not [entry.name for entry in files if entry.issym()]
        member = files.extractfile("controlplane/files/controlplane.rules.yml")
        assert member is not None
        assert member.read() == (ROOT / "deploy/prometheus/controlplane.rules.yml").read_bytes()
    assert not [name for name in names if "/ci/" in name]


def test_the_notes_say_how_to_create_the_administrator(helm, tmp_path):
    """Helm shows notes with a cluster only: here as a value of a template of a copy."""
    copy = tmp_path / "controlplane"
    shutil.copytree(CHART, copy)
    (copy / "templates" / "NOTES.txt").rename(copy / "files" / "notes")
    (copy / "templates" / "notes.yaml").write_text('notes: {{ tpl (.Files.Get "files/notes") . | toJson }}')
    command = [helm, "template", "controlplane", str(copy), "--namespace", "cp", "--values", str(SMALL)]
    shown = run(*command, "--kube-version", KUBERNETES, "--show-only", "templates/notes.yaml")

    assert shown.returncode == 0, shown.stderr
    notes = yaml.safe_load(shown.stdout)["notes"]
    assert "helm test controlplane --namespace cp" in notes
    assert "kubectl --namespace cp exec deploy/controlplane-web" in notes
    assert "create_admin --data-dir /tmp/admin" in notes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["publicUrl="], "Set publicUrl to the address that clients use"),
        (["secretKey.existingSecret="], "Set secretKey.existingSecret to the name of a Secret"),
        (["database.existingSecret="], "Set database.existingSecret"),
        (["redis.existingSecret="], "Set redis.existingSecret"),
        (["nats.existingSecret="], "Set nats.existingSecret"),
        (["database.keys.webUrl="], "Set database.keys.webUrl, or database.keys.url for all roles."),
        (["database.keys.webUrl=,database.keys.url=u,database.roles.enabled=true"], "has its own URL"),
        (["database.pooler=transaction"], "needs URLs past the pooler"),
        (["overridesSource.type=file"], "needs overridesSource.configMap"),
        (["agentConfigs.watch.enabled=true"], "needs agentConfigs.watch.namespaces, or clusterWide"),
        (["grpcIngress.enabled=true"], "needs grpcIngress.hosts"),
        (["networkPolicy.enabled=true"], "needs networkPolicy.clients"),
        (["auth.keys.oidcClientSecret=k"], "auth.keys needs auth.existingSecret"),
        (["metrics.serviceMonitor.enabled=true,web.tls.existingSecret=t"], "metrics.serviceMonitor.token"),
        (["metrics.serviceMonitor.enabled=true"], "metrics.serviceMonitor needs web.tls.existingSecret"),
        (["metrics.podMonitor.enabled=true,metrics.port=0"], "metrics.podMonitor needs metrics.port"),
        (["metrics.port=8080"], "at '/metrics/port'"),
        (["traces.headers.existingSecret=collector"], "traces.headers needs traces.endpoint"),
        (["settings.SECRET_KEY=x"], "invalid propertyName 'SECRET_KEY'"),
        (["databse.pooler=none"], "additional properties 'databse' not allowed"),
        (["podSecurityContext.runAsNonRoot=false"], "at '/podSecurityContext/runAsNonRoot'"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_with_the_next_step(helm, values, message):
    refused = template(helm, "--values", str(SMALL), *(word for value in values for word in ("--set", value)))

    assert refused.returncode != 0
    assert message in refused.stderr


def test_names_fit_however_long_the_release_is_called(helm):
    name = "a-release-with-a-name-as-long-as-helm-allows-it-be-53"
    command = [helm, "template", name, str(CHART), "--kube-version", KUBERNETES, "--values", str(SMALL)]
    rendered = run(*command, "--set", f"image.tag={'v' * 100}", "--set", "agentConfigs.watch.enabled=true",
                   "--set", "agentConfigs.watch.namespaces={acme}", "--set", "migrations.hook=false",
                   "--set", "database.roles.enabled=true", "--set", "plugins.enabled=true")  # fmt: skip

    assert rendered.returncode == 0, rendered.stderr
    for document in yaml.safe_load_all(rendered.stdout):
        if document["kind"] not in ("Role", "RoleBinding"):
            assert len(document["metadata"]["name"]) <= (52 if document["kind"] == "StatefulSet" else 63)
        assert all(len(value) <= 63 for value in document["metadata"]["labels"].values())
