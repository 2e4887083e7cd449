"""Previews of pods against FlytePropeller's own code, from its Go modules: the same pods."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from overrides.effective.flyte_helm import Chart, helm_values
from overrides.pods.gpus import Accelerator
from overrides.pods.merging import plain
from overrides.pods.preview import Configuration, Namespaces, PodTemplate, Task, preview
from tests.support.paths import ROOT
from tests.unit.overrides.pods.guide_examples import EXAMPLES

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
CASES = 1500
POD, PROPELLER = "flytesnacks-development", "flyte"
KEYS = ("a", "b", "c")
WORDS = ("", "x", "y", "z")
# Flyte gives each container these by the limits of the platform, which a preview leaves out.
PLATFORM = ("cpu", "memory")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go") / "flyte_pods"
    shutil.copytree(ROOT / "tests/nightly/flyte_pods", folder)
    for command in (["go", "mod", "tidy"], ["go", "build", "-o", "flyte_pods", "."]):
        subprocess.run(command, cwd=folder, check=True, timeout=1800)
    return folder / "flyte_pods"


class Cases:
    """Tasks, PodTemplates and configurations of all the parts that a preview looks at."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, make: Any, most: int = 2) -> list[Any]:
        return [make() for _ in range(self._random.randint(0, most))]

    def maybe(self, **members: Any) -> dict[str, Any]:
        return {name: make() for name, make in members.items() if self._random.random() < 0.5}

    def word(self) -> str:
        return self._random.choice(WORDS)

    def flag(self) -> bool:
        return self._random.random() < 0.5

    def number(self) -> int:
        return self._random.choice([0, 1, 2])

    def texts(self) -> dict[str, str]:
        return {key: self.word() for key in KEYS if self.flag()}

    def toleration(self) -> dict[str, Any]:
        return {"key": self._random.choice(KEYS), **self.maybe(operator=lambda: "Exists", value=self.word)}

    def variable(self) -> dict[str, Any]:
        return {"name": self._random.choice(KEYS), "value": self.word()}

    def resources(self) -> dict[str, Any]:
        names = ("nvidia.com/gpu", "example.com/fpga")
        amounts = {name: str(self._random.randint(1, 3)) for name in names if self.flag()}
        return {"limits": amounts, "requests": dict(amounts)}

    def probe(self) -> dict[str, Any]:
        port = self._random.choice(["http", 8080, "metrics"])
        return {"httpGet": {"path": self.word(), "port": port}, **self.maybe(periodSeconds=self.number)}

    def context(self) -> dict[str, Any]:
        return self.maybe(privileged=self.flag, runAsUser=self.number, runAsNonRoot=self.flag)

    def container(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            **self.maybe(
                image=self.word,
                command=lambda: self.some(self.word),
                args=lambda: self.some(self.word),
                env=lambda: self.some(self.variable),
                resources=self.resources,
                livenessProbe=self.probe,
                securityContext=self.context,
                imagePullPolicy=lambda: self._random.choice(["Always", "Never"]),
                terminationMessagePath=self.word,
                stdin=self.flag,
                volumeMounts=lambda: self.some(lambda: {"name": "v", "mountPath": f"/{self.word()}"}),
            ),
        }

    def spec(self, containers: list[str], init: list[str]) -> dict[str, Any]:
        return {
            "containers": [self.container(name) for name in containers],
            "initContainers": [self.container(name) for name in init],
            **self.maybe(
                tolerations=lambda: self.some(self.toleration),
                nodeSelector=self.texts,
                hostNetwork=self.flag,
                serviceAccountName=self.word,
                terminationGracePeriodSeconds=self.number,
                restartPolicy=lambda: self._random.choice(["Always", "Never"]),
                securityContext=lambda: self.maybe(runAsUser=self.number, runAsNonRoot=self.flag),
                volumes=lambda: self.some(lambda: {"name": self.word(), "emptyDir": {}}),
                affinity=self.affinity,
            ),
        }

    def affinity(self) -> dict[str, Any]:
        def term() -> dict[str, Any]:
            return {"matchExpressions": [{"key": self.word(), "operator": "Exists"}]}

        required = {"nodeSelectorTerms": self.some(term)}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    def chosen(self, names: tuple[str, ...], always: str = "") -> list[str]:
        return [name for name in names if name == always or self.flag()]

    def template(self, namespace: str) -> dict[str, Any]:
        containers = self.chosen(("default", "primary", "sidecar", "noop"), "noop")
        init = self.chosen(("default-init", "primary-init", "prepare"))
        metadata = self.maybe(labels=self.texts, annotations=self.texts)
        return {
            "metadata": {"name": self._random.choice(["t1", "t2"]), "namespace": namespace},
            "template": {"metadata": metadata, "spec": self.spec(containers, init)},
        }

    def plugin(self) -> dict[str, Any]:
        def by_resource() -> dict[str, Any]:
            return {"nvidia.com/gpu": self.some(self.toleration)}

        return self.maybe(
            default_labels=self.texts,
            default_annotations=self.texts,
            default_tolerations=lambda: self.some(self.toleration),
            resource_tolerations=by_resource,
            enable_host_networking_pod=self.flag,
            # Flyte keeps them in a map: their order is not defined.
            default_env_vars=lambda: [self.variable()],
        )

    def gpus(self) -> dict[str, Any]:
        requirement = {"key": "whole", "operator": "DoesNotExist"}
        return {
            "gpu_resource_name": "nvidia.com/gpu",
            "device_label": "device",
            "partition_size_label": "size",
            **self.maybe(
                unpartitioned_node_selector_requirement=lambda: requirement,
                unpartitioned_toleration=self.toleration,
            ),
        }

    def task(self) -> dict[str, Any]:
        accelerators = [
            {"device": "t4"},
            {"device": "a100", "partition_size": "1g"},
            {"device": "a100", "unpartitioned": True},
            {"unpartitioned": True},
        ]
        names = self.maybe(pod_template_name=lambda: self._random.choice(["t1", "t2"]))
        names |= self.maybe(accelerator=lambda: self._random.choice(accelerators))
        if self.flag():
            plain_container = self.container("task")
            members = ("name", "image", "command", "args", "env", "resources")
            return {
                "container": {key: plain_container[key] for key in members if key in plain_container},
                **names,
            }
        containers = self.chosen(("primary", "sidecar", "default", "main"))
        # Where another container has this name, Flyte merges into its PodTemplate: containers share values.
        primary = "primary" if "primary" in containers else self._random.choice([*containers, "none"])
        spec = self.spec(containers, self.chosen(("prepare", "default-init", "primary-init")))
        metadata = {"labels": self.texts(), "annotations": self.texts()}
        return {"pod_spec": spec, "metadata": metadata, "primary_container_name": primary, **names}

    def case(self) -> dict[str, Any]:
        namespaces = (POD, PROPELLER, "elsewhere")
        templates = [self.template(namespace) for namespace in namespaces if self.flag()]
        configuration = {"k8s_plugin": self.plugin(), "gpu_node_labels": self.gpus()}
        if self.flag():
            configuration["default_pod_template"] = {"name": "t1"}
        return {"task": self.task(), "templates": templates, "configuration": configuration}


def upstream_input(case: Mapping[str, Any]) -> str:
    """Return the case for the program; its configuration is what we render for the chart."""
    values = helm_values(case["configuration"].items(), Chart.BINARY).content
    plugin = dict(values.get("configuration", {}).get("inline", {}).get("plugins", {}).get("k8s", {}))
    variables = plugin.pop("default-env-vars", [])
    plugin["default-env-vars"] = {name: value for each in variables for name, value in each.items()}
    task = case["task"]
    return json.dumps(
        {
            "namespace": POD,
            "templates": case["templates"],
            "plugin": plugin,
            "container": task.get("container"),
            "pod_spec": task.get("pod_spec"),
            "metadata": task.get("metadata"),
            "primary": task.get("primary_container_name", ""),
            "template_name": task.get("pod_template_name", ""),
            "accelerator": task.get("accelerator"),
        }
    )


def ours(case: Mapping[str, Any]) -> dict[str, Any]:
    task = dict(case["task"])
    if "accelerator" in task:
        task["accelerator"] = Accelerator(**task["accelerator"])
    templates = [
        PodTemplate(each["metadata"]["namespace"], each["metadata"]["name"], **each["template"])
        for each in case["templates"]
    ]
    found = preview(
        Task(**task), templates, Configuration(**case["configuration"]), Namespaces(POD, PROPELLER)
    )
    if found.failure:
        return {"failure": True}
    return comparable({"metadata": plain(found.metadata), "spec": plain(found.spec)})


def theirs(line: str) -> dict[str, Any]:
    read = json.loads(line)
    return {"failure": True} if "failure" in read else comparable(read)


def comparable(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod without what is empty, and without what only one of both can know."""
    kept = {name: pod["metadata"].get(name) for name in ("namespace", "labels", "annotations")}
    if kept["annotations"]:
        # Flyte's plugin notes the container by itself.
        kept["annotations"] = {k: v for k, v in kept["annotations"].items() if k != "primary_container_name"}
    return {"metadata": without_empty(kept), "spec": without_empty(pod["spec"])}


def without_empty(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        if name in ("labels", "annotations", "nodeSelector"):
            return dict(value)
        kept = {key: without_empty(item, key) for key, item in value.items() if key not in PLATFORM}
        return {key: item for key, item in kept.items() if item or (item == {} and key == "emptyDir")}
    if isinstance(value, list):
        return [each for each in map(without_empty, value) if not flytes_own(each)]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and value else value


def flytes_own(item: Any) -> bool:
    """Return whether it is a variable that Flyte sets for each execution."""
    return isinstance(item, dict) and str(item.get("name", "")).startswith(("FLYTE_", "_F_"))


def run(program: Path, cases: list[dict[str, Any]]) -> list[str]:
    lines = "\n".join(map(upstream_input, cases))
    ran = subprocess.run(
        [str(program)], input=lines, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [line for line in ran.stdout.splitlines() if line.startswith("{")]


def test_generated_pods_are_those_of_flyte(program: Path) -> None:
    cases = [Cases(seed).case() for seed in range(CASES)]
    answers = run(program, cases)
    assert len(answers) == CASES
    differing = [
        (seed, ours(case), theirs(line))
        for seed, (case, line) in enumerate(zip(cases, answers, strict=True))
        if ours(case) != theirs(line)
    ]
    failures = sum("failure" in theirs(line) for line in answers)
    print(f"{CASES} pods, {failures} of them fail, {len(differing)} differ")
    assert differing == [], json.dumps(differing[:2], indent=1)
    assert 0 < failures < CASES / 2


def test_the_examples_of_the_guide_are_what_flyte_does(program: Path) -> None:
    """The golden tests hold for what the program says: where the guide differs, the guide is wrong."""
    answers = run(program, list(EXAMPLES))
    assert [theirs(line) for line in answers] == [ours(case) for case in EXAMPLES]
    assert all(ours(case)["spec"]["containers"] for case in EXAMPLES)
