"""The pod of a stored job's task or hook, as Kubernetes, Airflow or Docker takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.conf import settings

from controlplane.database.clock import database_now
from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from registry.jobs.job_spec import JobSpec
from registry.jobs.labels import sanitize_label
from registry.jobs.models import Job, JobRun
from registry.jobs.plugin_lookup import step_of
from registry.jobs.stored_jobs import spec_of
from registry.jobs.stored_run_input import Instance, StoredRunInput, preview_run_input
from registry.plugins.pods import requests
from registry.plugins.pods.airflow import operator_arguments
from registry.plugins.pods.docker import docker_commands, docker_program
from registry.plugins.pods.profiles import PROFILES
from registry.plugins.pods.rendering import render_pod, render_yaml
from registry.plugins.pods.requests import BootContext, PodRequest, Shape, UnsupportedShape, check_shape

_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_LONGEST_NAME = 63
_AIRFLOW_TIME = "{{ data_interval_end }}"


class PodKind(StrEnum):
    """What is rendered: a pod, the arguments of Airflow's KubernetesPodOperator, or a program for Docker."""

    POD = "pod"
    AIRFLOW = "airflow"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True)
class PodTerms:
    """How to render. cluster_version: as v1.35.0.

    scheduled_at: time of the run or a template of it; empty for Airflow's template, and never for Docker.
    host: address at which pods reach the server; empty for PUBLIC_URL.
    """

    instance: Instance
    kind: PodKind
    profile: str
    shape: Shape
    scheduled_at: str
    host: str = ""
    cluster_version: str = ""
    service_account_name: str = ""


@dataclass(frozen=True, slots=True)
class RenderedPod:
    """content: the pod, the arguments or both containers. text: the same as YAML, or the shell program."""

    found: StoredRunInput
    content: Mapping[str, Any]
    text: str


def render_job(job: Job, terms: PodTerms) -> RenderedPod:
    """Render the pod with the active release. Raises InvalidRequest, UnknownPlugin."""
    _check_time(terms)
    _check_shape(terms)
    spec, now = spec_of(job), database_now()
    # Names of variables alone are used of it: a run of another time has the same.
    found = preview_run_input(job, JobRun(job=job, scheduled_at=now, started_at=now), terms.instance)
    request = _request(job, spec, terms, found)
    profile = PROFILES[terms.profile]
    if terms.kind is PodKind.AIRFLOW:
        arguments = operator_arguments(request, profile)
        return RenderedPod(found, arguments, strict_yaml.dump(arguments))
    if terms.kind is PodKind.DOCKER:
        return RenderedPod(found, docker_commands(request, profile), docker_program(request, profile))
    return RenderedPod(found, render_pod(request, profile), render_yaml(request, profile))


def _check_time(terms: PodTerms) -> None:
    """Docker has no scheduler that would fill in a template."""
    if terms.kind is not PodKind.DOCKER:
        return
    try:
        datetime.fromisoformat(terms.scheduled_at)
    except ValueError as error:
        message = (
            "A program for Docker needs the time of the run. Send scheduled_at, as 2026-11-24T02:00:00Z."
        )
        raise InvalidRequest(message, errors=[FieldError("/scheduled_at", "required", message)]) from error


def _check_shape(terms: PodTerms) -> None:
    if not terms.cluster_version:
        return
    try:
        check_shape(terms.shape, terms.cluster_version)
    except UnsupportedShape as error:
        raise InvalidRequest(str(error), errors=[FieldError("/shape", "unsupported", str(error))]) from error
    except ValueError as error:
        message = "The version of a cluster is written as v1.35.2."
        errors = [FieldError("/cluster_version", "malformed", message)]
        raise InvalidRequest(message, errors=errors) from error


def _request(job: Job, spec: JobSpec, terms: PodTerms, found: StoredRunInput) -> PodRequest:
    step = step_of(spec, terms.instance.type, terms.instance.name)
    labels = {"project": job.project_id, "job_name": job.name, **spec.labels}
    boot = BootContext(
        job_name=job.name,
        project=job.project_id,
        host=_host(terms),
        instance_type=requests.InstanceType(terms.instance.type.value),
        instance_name=step.name,
        scheduled_at=terms.scheduled_at or _AIRFLOW_TIME,
        dag_run_id="{{ run_id }}" if terms.kind is PodKind.AIRFLOW else "",
    )
    return PodRequest(
        name=_pod_name(job.name, step.name),
        executor=found.plugin.executor,
        default_init_image=settings.BOOT_INIT_IMAGE,
        boot=boot,
        shape=terms.shape,
        env_names=tuple(sorted(found.input.envs)),
        labels={_label(name): _label(value) for name, value in labels.items()},
        resources=_resources(spec),
        service_account_name=terms.service_account_name,
        fail_hook=found.plugin.runs_after_failures,
    )


def _host(terms: PodTerms) -> str:
    host = terms.host or settings.PUBLIC_URL
    if not host:
        message = "Pods would not know the address of the server. Send host, or set PUBLIC_URL on the server."
        raise InvalidRequest(message, errors=[FieldError("/host", "required", message)])
    return host


def _label(text: str) -> str:
    """Return a label as Kubernetes takes it: it begins and ends with a letter or digit."""
    return sanitize_label(text).strip("-_")


def _pod_name(job: str, step: str) -> str:
    return _NOT_IN_NAMES.sub("-", f"{job}-{step}".lower())[:_LONGEST_NAME].strip("-")


def _resources(spec: JobSpec) -> dict[str, dict[str, str]]:
    amounts = {"requests": spec.metadata.request, "limits": spec.metadata.limit}
    written = {
        name: {key: value for key, value in (("memory", each.memory), ("cpu", each.cpu)) if value}
        for name, each in amounts.items()
    }
    return {name: values for name, values in written.items() if values}
