"""HTTP endpoint that renders the pod of a job."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, StrictSerializer, Text, parse_body
from controlplane.identity.roles import Action
from registry.api.jobs.schemas import INSTANCE_TYPES
from registry.jobs.rendered_pods import PodKind, PodTerms, render_job
from registry.jobs.run_input import InstanceType
from registry.jobs.stored_jobs import get_job
from registry.jobs.stored_run_input import Instance
from registry.plugins.pods.profiles import PROFILES
from registry.plugins.pods.requests import Shape

POD_KINDS = [(kind.value, kind.value) for kind in PodKind]
POD_PROFILES = [(name, name) for name in PROFILES]
POD_SHAPES = [(shape.value, shape.value) for shape in Shape]


class JobRenderWrite(StrictSerializer):
    kind = serializers.ChoiceField(
        POD_KINDS,
        required=False,
        default="pod",
        help_text="airflow: arguments of KubernetesPodOperator. docker: a shell program.",
    )
    instance_type = serializers.ChoiceField(INSTANCE_TYPES, required=False, default=InstanceType.TASK.value)
    instance_name = Text(required=False, default="", allow_blank=True, max_length=220)
    profile = serializers.ChoiceField(
        POD_PROFILES, required=False, default="optimus", help_text="Names and paths of the pod."
    )
    shape = serializers.ChoiceField(
        POD_SHAPES,
        required=False,
        default=Shape.WRAPPER.value,
        help_text="file_key_ref: the kubelet reads the environment, from Kubernetes 1.35 on.",
    )
    cluster_version = Text(required=False, default="", allow_blank=True, max_length=32)
    scheduled_at = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Time of the run, or its template. Omitted: what Airflow has. docker needs a time.",
    )
    host = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="Address at which pods reach the server. Omitted: PUBLIC_URL.",
    )
    service_account_name = Text(required=False, default="", allow_blank=True, max_length=253)


class JobRenderRead(serializers.Serializer[Any]):
    release_id = serializers.UUIDField(help_text="The release of plugins that it was rendered with.")
    content = serializers.DictField(help_text="The pod, the arguments, or both containers.")
    text = serializers.CharField(help_text="The same as YAML; for docker the shell program.")


_WRITE = OpenApiExample(
    "Pod", value={"kind": "pod", "scheduled_at": "2026-11-24T02:00:00Z"}, request_only=True
)
_READ = OpenApiExample(
    "Pod",
    value={
        "release_id": "019ab4c1-2000-7000-8000-000000000001",
        "content": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "orders-daily-bq2bq"}},
        "text": "apiVersion: v1\nkind: Pod\n",
    },
    response_only=True,
)


class JobRender(Endpoint):
    actions = {"POST": Action.JOB_READ}
    problems = {"POST": (errors.UnknownJob, errors.UnknownPlugin)}
    takes_keys = False

    @extend_schema(
        operation_id="jobs_render",
        summary="Render the pod of a job",
        description="The pod of the job's task or of a hook with the active release of its plugin, or the"
        " arguments of Airflow's KubernetesPodOperator, or a shell program that runs both containers with"
        " Docker. Nothing is stored, and no secret is in it: the init"
        " container fetches them when the pod runs.",
        tags=["jobs"],
        request=JobRenderWrite,
        responses=JobRenderRead,
        examples=[_WRITE, _READ],
    )
    def post(self, request: Request, project: str, name: str) -> Response:
        Query.parse(request)
        body = parse_body(JobRenderWrite, request)
        terms = PodTerms(
            Instance(InstanceType(body["instance_type"]), body["instance_name"]),
            PodKind(body["kind"]),
            body["profile"],
            Shape(body["shape"]),
            body["scheduled_at"],
            body["host"],
            body["cluster_version"],
            body["service_account_name"],
        )
        rendered = render_job(get_job(caller_of(request), project, name), terms)
        return Response(
            {
                "release_id": rendered.found.plugin.release.id,
                "content": rendered.content,
                "text": rendered.text,
            }
        )
