"""Rendered pods: golden files, valid for Kubernetes, and the command in real shells."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from registry.plugins.documents.executors import Entrypoint, Executor
from registry.plugins.pods.airflow import operator_arguments
from registry.plugins.pods.commands import executor_command
from registry.plugins.pods.docker import docker_program
from registry.plugins.pods.profiles import OPTIMUS, PROFILES, RFC
from registry.plugins.pods.rendering import render_pod, render_yaml
from registry.plugins.pods.requests import (
    BootContext,
    InstanceType,
    PodRequest,
    Shape,
    UnsupportedShape,
    check_shape,
)

SHELLS = [path for name in ("sh", "dash", "bash") if (path := shutil.which(name))]
GOLDEN = Path(__file__).parent / "golden"
TASK = PodRequest(
    name="table1-bq2bq",
    executor=Executor("registry.example/team/bq2bq:1.0", Entrypoint("run\n", "/bin/bash")),
    default_init_image="registry.example/controlplane-boot:0.1.0",
    boot=BootContext(
        job_name="sample-project.playground.table1",
        project="sample-project",
        host="https://controlplane.example",
        instance_type=InstanceType.TASK,
        instance_name="bq2bq",
        scheduled_at="{{ next_execution_date }}",
        dag_run_id="{{ run_id }}",
    ),
    env_names=("DSTART", "DEND"),
    labels={"orchestrator": "optimus", "job_name": "table1"},
    resources={"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
    service_account_name="bq2bq",
)
HOOK = PodRequest(
    name="table1-predator",
    executor=Executor("registry.example/team/predator:2.1", Entrypoint("run"), "registry.example/own-boot:7"),
    default_init_image="registry.example/controlplane-boot:0.1.0",
    boot=BootContext(
        "table1", "sample-project", "https://controlplane.example", InstanceType.HOOK, "predator", "now"
    ),
    env_names=("DSTART",),
    fail_hook=True,
)
# The RFC's sample with its own template variables.
RFC_SAMPLE = PodRequest(
    name="{{.task}}",
    executor=Executor("{{.executor-image-repo-link}}", Entrypoint("run")),
    default_init_image="{{.default-init-docker-image}}",
    boot=BootContext(
        "{{.job}}", "{{.project}}", "{{.host}}", InstanceType.TASK, "{{.task}}", "{{.scheduled-at}}"
    ),
    executor_name="{{.executor-name}}",
)


def shaped(request: PodRequest, shape: Shape) -> PodRequest:
    return dataclasses.replace(request, shape=shape)


CASES = {
    f"{kind}_{profile}_{shape.value}": (shaped(request, shape), PROFILES[profile])
    for kind, request in (("task", TASK), ("hook", HOOK))
    for profile in PROFILES
    for shape in Shape
}
CASES["rfc_sample"] = (RFC_SAMPLE, RFC)


@pytest.mark.parametrize("name", CASES)
def test_pods_are_as_in_their_golden_files(name):
    assert render_yaml(*CASES[name]) == (GOLDEN / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", CASES)
def test_pods_are_valid_for_kubernetes(name):
    pod = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())

    kubernetes_validate.validate(pod, "1.35", strict=True)


@pytest.mark.parametrize("name", ["task_optimus_wrapper", "hook_rfc_wrapper"])
def test_programs_for_docker_are_as_in_their_golden_files(name):
    request, profile = CASES[name]
    program = docker_program(request, profile)
    assert program == (GOLDEN / f"{name}.docker.sh").read_text()


def test_the_validation_finds_errors():
    pod = render_pod(TASK, OPTIMUS)
    pod["spec"]["initContainer"] = []

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, "1.35", strict=True)


def test_file_keys_are_unknown_to_older_clusters():
    pod = render_pod(shaped(TASK, Shape.FILE_KEY_REF), OPTIMUS)

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, "1.33", strict=True)


@pytest.mark.parametrize("name", CASES)
def test_no_pod_has_a_hook_of_its_life_cycle_or_a_writable_boot(name):
    pod = render_pod(*CASES[name])

    (init,) = pod["spec"]["initContainers"]
    assert "lifecycle" not in str(pod)
    assert init["securityContext"]["readOnlyRootFilesystem"] is True
    assert init["securityContext"]["runAsNonRoot"] is True


def test_the_profile_of_the_rfc_has_its_names():
    pod = render_pod(RFC_SAMPLE, RFC)

    (init,), (executor,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    assert pod["metadata"]["name"] == "{{.task}}"
    assert (init["name"], init["image"]) == ("init-executor", "{{.default-init-docker-image}}")
    assert (executor["name"], executor["image"]) == ("{{.executor-name}}", "{{.executor-image-repo-link}}")
    assert init["volumeMounts"] == [{"name": "assets-dir", "mountPath": "/usr/share/asserts"}]
    assert executor["volumeMounts"] == [{"name": "assets-dir", "mountPath": "/var/assets"}]
    assert pod["spec"]["volumes"] == [{"name": "assets-dir", "emptyDir": {}}]


@pytest.mark.parametrize(("request_", "image"), [(TASK, "controlplane-boot:0.1.0"), (HOOK, "own-boot:7")])
def test_a_plugins_own_init_image_wins(request_, image):
    (init,) = render_pod(request_, OPTIMUS)["spec"]["initContainers"]

    assert init["image"] == f"registry.example/{image}"


def test_values_are_not_expanded_by_kubernetes():
    request = dataclasses.replace(TASK, boot=dataclasses.replace(TASK.boot, job_name="$(PROJECT)"))

    pod = render_pod(request, OPTIMUS)
    for container in (*pod["spec"]["initContainers"], *pod["spec"]["containers"]):
        assert {"name": "JOB_NAME", "value": "$$(PROJECT)"} in container["env"]


def test_secrets_never_come_from_file_keys():
    (executor,) = render_pod(shaped(TASK, Shape.FILE_KEY_REF), OPTIMUS)["spec"]["containers"]

    references = [
        variable["valueFrom"]["fileKeyRef"] for variable in executor["env"] if "valueFrom" in variable
    ]
    assert [(reference["key"], reference["path"]) for reference in references] == [
        ("DSTART", "in/env"),
        ("DEND", "in/env"),
    ]
    assert ". /data/in/secret" in executor["command"][2]
    assert "in/env" not in executor["command"][2]


@pytest.mark.parametrize(
    ("shape", "version", "is_supported"),
    [
        (Shape.WRAPPER, "1.20", True),
        (Shape.FILE_KEY_REF, "v1.34.9", False),
        (Shape.FILE_KEY_REF, "v1.35.0", True),
        (Shape.FILE_KEY_REF, "1.35+", True),
        (Shape.FILE_KEY_REF, "v1.36.1-gke.100", True),
        (Shape.FILE_KEY_REF, "2.0", True),
    ],
)
def test_the_version_of_the_cluster_decides_the_shape(shape, version, is_supported):
    if is_supported:
        check_shape(shape, version)
    else:
        with pytest.raises(UnsupportedShape, match=r"this cluster has 1\.34"):
            check_shape(shape, version)


class TestTheCommand:
    ENV = "A='it'\\''s'\nB='two\nlines'\nC='$HOME `id`'\n"
    SCRIPT = "cat <<END\n$A|$B|$C|$D\nEND\n# a comment\nexit 7\n"

    @pytest.fixture
    def mount(self, tmp_path):
        folder = tmp_path / "with space" / "in"
        folder.mkdir(parents=True)
        (folder / "env").write_text(self.ENV)
        (folder / "secret").write_text("D='s3cr3t'\n")
        (folder / "entrypoint").write_text(self.SCRIPT)
        return folder.parent

    @pytest.mark.parametrize("shell", SHELLS)
    def test_values_survive_each_shell(self, shell, mount):
        command = executor_command(shell, str(mount), Shape.WRAPPER)

        run = subprocess.run(command, check=False, capture_output=True, text=True, env={}, timeout=10)
        assert (run.returncode, run.stdout, run.stderr) == (7, "it's|two\nlines|$HOME `id`|s3cr3t\n", "")

    @pytest.mark.parametrize("shell", SHELLS)
    @pytest.mark.parametrize("missing", ["env", "secret"])
    def test_a_missing_file_stops_before_the_script(self, shell, mount, missing):
        (mount / "in" / missing).unlink()
        command = executor_command(shell, str(mount), Shape.WRAPPER)

        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
        assert run.returncode not in (0, 7)
        assert run.stdout == ""

    def test_file_keys_leave_only_the_secrets_to_the_command(self, mount):
        (mount / "in" / "env").unlink()

        command = executor_command("/bin/sh", str(mount), Shape.FILE_KEY_REF)
        run = subprocess.run(command, check=False, capture_output=True, text=True, env={"A": "a"}, timeout=10)
        assert (run.returncode, run.stdout) == (7, "a|||s3cr3t\n")


class TestAirflow:
    def test_arguments_are_as_in_their_golden_file(self):
        expected = yaml.safe_load((GOLDEN / "operator_task.yaml").read_text())

        assert operator_arguments(TASK, OPTIMUS) == expected

    def test_a_fail_hook(self):
        arguments = operator_arguments(HOOK, RFC)

        assert (arguments["task_id"], arguments["trigger_rule"]) == ("hook_predator", "one_failed")
        assert arguments["base_container_name"] == "table1-predator"
        assert "service_account_name" not in arguments

    def test_they_describe_the_same_pod(self):
        arguments, pod = operator_arguments(TASK, OPTIMUS), render_pod(TASK, OPTIMUS)

        (executor,) = pod["spec"]["containers"]
        assert arguments["init_containers"] == pod["spec"]["initContainers"]
        assert (arguments["cmds"], arguments["env_vars"]) == (executor["command"], executor["env"])
        assert arguments["security_context"] == pod["spec"]["securityContext"]
