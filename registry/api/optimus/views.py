"""Plugins and inputs of runs in the wire format of Optimus."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, actor_of, caller_of
from controlplane.api.fields import Instant
from controlplane.errors import UnknownPluginRelease
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from registry.jobs.models import Job, JobRun
from registry.jobs.run_input import InstanceType
from registry.jobs.runs import RunTerms, create_run
from registry.jobs.stored_jobs import get_job
from registry.jobs.stored_run_input import Instance, read_run_input
from registry.plugin_releases.models import PluginRelease
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import find_set

_TYPES = {
    "TYPE_TASK": InstanceType.TASK,
    "TYPE_HOOK": InstanceType.HOOK,
    1: InstanceType.TASK,
    2: InstanceType.HOOK,
}
# Status codes of HTTP and gRPC.
_GRPC = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 501: 12, 503: 14}
_INTERNAL = 13
_EPOCH = (1980, 1, 1, 0, 0, 0)


class OptimusPlugins(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        found = find_set(caller_of(request), "")
        if found is None or found.active is None:
            raise UnknownPluginRelease("The platform has no active release of plugins.")
        content = _archive(found.active)
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        changed = found.active.activated_at or found.active.created_at
        response = HttpResponse(content, content_type="application/zip")
        response.headers["ETag"] = etag
        response.headers["Last-Modified"] = http_date(changed.timestamp())
        same = get_conditional_response(request._request, etag, int(changed.timestamp()), response)
        return same or response

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # Clients ask for zip, or for nothing.
        return super().perform_content_negotiation(request, force=True)


class _RunInputWrite(serializers.Serializer[Any]):
    """Fields that are not known are ignored, as Optimus does."""

    scheduled_at = Instant()
    instance_type = serializers.JSONField()
    instance_name = serializers.CharField(required=False, default="", allow_blank=True, max_length=220)
    dag_run_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=250)

    def validate_instance_type(self, value: Any) -> InstanceType:
        known = _TYPES.get(value) if isinstance(value, str | int) else None
        if known is None:
            raise serializers.ValidationError("Expected TYPE_TASK or TYPE_HOOK.")
        return known


class OptimusRunInput(Endpoint):
    actions = {"POST": Action.RUN_INPUT_READ}
    takes_keys = False

    @extend_schema(exclude=True)
    def post(self, request: Request, project: str, name: str) -> Response:
        body = _fields(request.data)
        job = get_job(caller_of(request), project, name, Action.RUN_INPUT_READ)
        run = _run(request, job, body)
        instance = Instance(body["instance_type"], body["instance_name"])
        found = read_run_input(job, run, instance, actor=actor_of(request))
        files = {name: file.text for name, file in found.input.files.items()}
        return Response(
            {"envs": dict(found.input.envs), "files": files, "secrets": dict(found.input.secrets)}
        )

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        problem = response.data if isinstance(response.data, dict) else {}
        message = problem.get("detail") or problem.get("title") or "The request failed."
        code = _GRPC.get(response.status_code, _INTERNAL)
        response.data = {"code": code, "message": str(message), "details": []}
        response.content_type = "application/json"
        return response


def _run(request: Request, job: Job, body: dict[str, Any]) -> JobRun:
    """Return the run for the time, created if it is missing: Optimus does not ask for it first."""
    run = JobRun.objects.filter(job=job, scheduled_at=body["scheduled_at"]).first()
    if run is not None:
        return run
    caller_of(request).require(Action.JOB_RUN, Scope(project=job.project_id))
    terms = RunTerms(body["scheduled_at"], body["dag_run_id"])
    return create_run(job, terms, actor=actor_of(request))[0]


def _fields(data: Any) -> dict[str, Any]:
    """Return the body with names in snake case: JSON of Protobuf has both. Raises ValidationError."""
    aliases = {
        "scheduledAt": "scheduled_at",
        "instanceType": "instance_type",
        "instanceName": "instance_name",
        "dagRunId": "dag_run_id",
    }
    plain = {aliases.get(key, key): value for key, value in data.items()} if isinstance(data, dict) else data
    body = _RunInputWrite(data=plain)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def _archive(release: PluginRelease) -> bytes:
    """Return the specifications of a release as zip, with the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in release.plugins.select_related("artifact", "fallback").order_by("name"):
            artifact = usable_artifact(row)
            if artifact is not None and artifact.spec is not None:
                entry = zipfile.ZipInfo(f"optimus-plugin-{row.name}.yaml", _EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, artifact.spec, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
