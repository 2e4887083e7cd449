"""The Helm chart: its value files and its recorded renderings, which `make chart` records.

Helm is needed to render, and takes minutes to build. So `make test` looks at recorded renderings, and the
nightly lane `chart` compares them with what helm renders.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

from tests.support.paths import ROOT

CHART = ROOT / "deploy" / "helm" / "controlplane"
RENDERINGS = ROOT / "tests" / "contract" / "chart_renderings"
# The collector of another cluster has a chart of its own, whose renderings are compared too.
COLLECTOR_CHART = ROOT / "deploy" / "helm" / "controlplane-collector"
COLLECTOR_RENDERINGS = ROOT / "tests" / "contract" / "chart_renderings_collector"
COLLECTOR_CASES = sorted(path.stem for path in (COLLECTOR_CHART / "ci").glob("*.yaml"))
IMMUTABLE = ROOT / "tests" / "contract" / "chart_immutable.json"
CASES = sorted(path.stem for path in (CHART / "ci").glob("*.yaml"))
# Its programs are those of version 3: version 4 writes other output.
HELM_MODULE = "helm.sh/helm/v3/cmd/helm@v3.22.0"
# Helm's own builds set the version of Kubernetes that it assumes without a cluster.
_LIBRARY = "helm.sh/helm/v3/pkg/chartutil"
HELM_FLAGS = f"-X {_LIBRARY}.k8sVersionMajor=1 -X {_LIBRARY}.k8sVersionMinor=35"
KUBERNETES = "1.35.0"
SECRETS = "/run/secrets/controlplane"
# Generated from code by `make rules` and `make dashboards`: in renderings, they would change with it.
GENERATED = {
    "kind: PrometheusRule": ("\nspec:\n", "\nspec: {groups: []} # of deploy/prometheus\n"),
    "name: controlplane-dashboards": ("\ndata:\n", "\ndata: {} # of deploy/grafana\n"),
}
Document = dict[str, Any]


def installed_helm() -> str | None:
    """Return helm of .tools or of the PATH, if there is one."""
    ours = ROOT / ".tools" / "helm" / "helm"
    return str(ours) if ours.exists() else shutil.which("helm")


def build_helm() -> str:
    """Build helm with Go into .tools: two minutes on a free machine, more on a busy one."""
    folder = ROOT / ".tools" / "helm"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(folder)}
    subprocess.run(
        ["nice", "go", "install", "-ldflags", HELM_FLAGS, HELM_MODULE],
        cwd=folder,
        env=environment,
        check=True,
    )
    return str(folder / "helm")


def template(helm: str, *arguments: str, chart: Path = CHART) -> subprocess.CompletedProcess[str]:
    command = [helm, "template", "controlplane", str(chart), "--namespace", "controlplane"]
    return subprocess.run(
        [*command, "--kube-version", KUBERNETES, *arguments], capture_output=True, text=True, check=False
    )


def render(helm: str, case: str) -> str:
    answer = template(helm, "--values", str(CHART / "ci" / f"{case}.yaml"))
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def render_collector(helm: str, case: str) -> str:
    values = str(COLLECTOR_CHART / "ci" / f"{case}.yaml")
    answer = template(helm, "--values", values, chart=COLLECTOR_CHART)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def without_generated(rendering: str) -> str:
    """Return the rendering without rules and dashboards."""
    documents = re.split(r"(?m)^---\n", rendering)
    for index, document in enumerate(documents):
        for mark, (start, instead) in GENERATED.items():
            if f"  {mark}" in document or f"\n{mark}" in document:
                documents[index] = document.partition(start)[0] + instead
    return "---\n".join(documents)


def recorded(case: str) -> str:
    return (RENDERINGS / f"{case}.yaml").read_text()


@cache
def documents(case: str) -> tuple[Document, ...]:
    return tuple(document for document in yaml.load_all(recorded(case), yaml.CSafeLoader) if document)


def kinds(case: str, *names: str) -> list[Document]:
    return [document for document in documents(case) if document["kind"] in names]


def name_of(document: Document) -> str:
    return f"{document['kind']}/{document['metadata']['name']}"


def pod_template(document: Document) -> Document | None:
    """Return metadata and spec of the pods that a document makes."""
    if document["kind"] == "Pod":
        return document
    return document["spec"]["template"] if document["kind"] in ("Deployment", "StatefulSet", "Job") else None


def component_of(document: Document) -> str:
    return document["metadata"]["labels"]["app.kubernetes.io/component"]


def pods(case: str) -> dict[str, Document]:
    """Return the pod templates of a rendering by process."""
    found = ((document, pod_template(document)) for document in documents(case))
    return {component_of(document): pod for document, pod in found if pod}


def containers(case: str) -> dict[str, Document]:
    """Return the one container of each process."""
    return {process: pod["spec"]["containers"][0] for process, pod in pods(case).items()}


def environment_of(container: Document) -> dict[str, str]:
    """Return the environment by name; what comes from elsewhere as its source."""
    return {entry["name"]: entry.get("value", str(entry.get("valueFrom"))) for entry in container["env"]}


def secret_files(pod: Document) -> dict[str, tuple[str, str]]:
    """Return the Secret and key of each file below SECRETS."""
    volumes = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "secrets"]
    sources = [source["secret"] for volume in volumes for source in volume["projected"]["sources"]]
    return {item["path"]: (source["name"], item["key"]) for source in sources for item in source["items"]}


@cache
def _definitions(version: str) -> Registry:
    contents = schema_contents(f"kubernetes-json-schema/v{version}.0-local-strict/_definitions.json", version)
    return (Resource.from_contents(contents) @ Registry()).crawl()


@cache
def kubernetes_validator(kind: str, api_version: str, version: str) -> Draft202012Validator:
    """Return what `kubernetes_validate.validate(strict=True)` makes, once: it reads all schemas each time."""
    group, _, number = api_version.rpartition("/")
    name = "-".join(part for part in (kind.lower(), group.partition(".")[0], number) if part)
    schema = schema_contents(f"kubernetes-json-schema/v{version}.0-local-strict/{name}.json", version)
    return Draft202012Validator(schema, registry=Resource.from_contents(schema) @ _definitions(version))


def paths_of(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every leaf; empty maps are leaves."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from paths_of(value, (*path, key))
    else:
        yield path


# What Kubernetes does not let an upgrade change, and the name of a claim or of a Job that is replaced.
_LASTING = (
    "selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates", "clusterIP", "accessModes",
)  # fmt: skip
_KINDS = (
    "Deployment", "StatefulSet", "Job", "Service", "PersistentVolumeClaim", "RoleBinding",
    "ClusterRoleBinding",
)  # fmt: skip


def immutable() -> dict[str, Document]:
    """Return the fields of each object that an upgrade must not change, by case and name."""
    fields = {}
    for case in CASES:
        for document in kinds(case, *_KINDS):
            spec = document.get("spec", {})
            kept = {name: spec[name] for name in _LASTING if name in spec}
            if "roleRef" in document:
                kept["roleRef"] = document["roleRef"]
            if document["kind"] == "Job":
                kept["hook"] = document["metadata"].get("annotations", {}).get("helm.sh/hook-delete-policy")
            fields[f"{case}: {re.sub('-[0-9a-f]{8}$', '-<digest>', name_of(document))}"] = kept
    return dict(sorted(fields.items()))


def record(helm: str) -> None:
    """Write the rendering of each value file, and delete those of files that are gone."""
    RENDERINGS.mkdir(exist_ok=True)
    for case in CASES:
        (RENDERINGS / f"{case}.yaml").write_text(without_generated(render(helm, case)))
    COLLECTOR_RENDERINGS.mkdir(exist_ok=True)
    for case in COLLECTOR_CASES:
        (COLLECTOR_RENDERINGS / f"{case}.yaml").write_text(render_collector(helm, case))
    for rendering in RENDERINGS.glob("*.yaml"):
        if rendering.stem not in CASES:
            rendering.unlink()


def record_immutable() -> None:
    """Add new objects. Fields of recorded ones stay, so that a test fails if they have changed."""
    current = immutable()
    released = json.loads(IMMUTABLE.read_text()) if IMMUTABLE.exists() else {}
    kept = {name: released.get(name, fields) for name, fields in current.items()}
    IMMUTABLE.write_text(json.dumps(kept, indent=1) + "\n")


def main(arguments: list[str]) -> int:
    helm = build_helm() if "--build" in arguments else installed_helm()
    if helm is None:
        print("helm is not installed. Put it on the PATH, or build it with Go: make chart HELM=build")
        return 1
    for case in CASES:
        values = str(CHART / "ci" / f"{case}.yaml")
        command = [helm, "lint", "--strict", "--quiet", "--kube-version", KUBERNETES, str(CHART)]
        subprocess.run([*command, "--values", values], check=True)
    record(helm)
    record_immutable()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
