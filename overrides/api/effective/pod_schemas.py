"""Schemas of pod previews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Flag, StrictSerializer, Text
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.scopes import MAX_SEGMENT_LENGTH
from overrides.api.schemas import AnyJSONField, AttributesField
from overrides.effective.pod_configuration import PodConfiguration
from overrides.pods.gpus import Accelerator
from overrides.pods.merging import Source, plain, sources
from overrides.pods.preview import PodTemplate, Preview, Task
from overrides.pods.shape import shape_errors

MAX_TEMPLATES = 20
_OPTIONAL: dict[str, Any] = {
    "required": False,
    "default": "",
    "allow_blank": True,
    "max_length": MAX_SEGMENT_LENGTH,
}


class PodAccelerator(StrictSerializer):
    device = Text(**_OPTIONAL, help_text="Such as nvidia-tesla-a100.")
    partition_size = Text(**_OPTIONAL, help_text="Such as 2g.10gb.")
    unpartitioned = Flag(required=False, default=False, help_text="Only whole GPUs.")


class PodTask(StrictSerializer):
    container = AttributesField(required=False, help_text="Container of a task without a pod of its own.")
    pod_spec = AttributesField(required=False, help_text="Pod specification of the compile-time PodTemplate.")
    primary_container_name = Text(**_OPTIONAL, help_text="With pod_spec: the container of the task.")
    labels = serializers.DictField(child=Text(allow_blank=True), required=False, default=dict)
    annotations = serializers.DictField(
        child=Text(lines=True, allow_blank=True), required=False, default=dict
    )
    pod_template_name = Text(**_OPTIONAL, help_text="PodTemplate that the task names.")
    accelerator = PodAccelerator(required=False)


class PodPreviewWrite(StrictSerializer):
    project = Text(**_OPTIONAL, help_text="Empty: what is in effect at the domain, or everywhere.")
    domain = Text(**_OPTIONAL)
    namespace = Text(**_OPTIONAL, help_text="Of the pod; by default project-domain.")
    propeller_namespace = Text(
        required=False, default="flyte", max_length=MAX_SEGMENT_LENGTH, help_text="Of FlytePropeller."
    )
    pod_templates = serializers.ListField(
        child=AttributesField(),
        max_length=MAX_TEMPLATES,
        required=False,
        default=list,
        help_text="PodTemplates as Kubernetes has them, with name and namespace.",
    )
    task = PodTask()
    k8s_plugin = AttributesField(required=False, help_text="Instead of the attributes in effect.")
    gpu_node_labels = AttributesField(required=False, help_text="Instead of the attributes in effect.")
    default_pod_template = AttributesField(required=False, help_text="Instead of the attributes in effect.")


class PodValueSource(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="JSON Pointer into `pod`.")
    source = serializers.CharField(  # type: ignore[assignment]  # DRF takes it out of the class
        help_text="task, pod_template, k8s_plugin, gpu_node_labels or flyte."
    )
    name = serializers.CharField(allow_blank=True, help_text="Of the PodTemplate, with its namespace.")
    setting = serializers.CharField(allow_blank=True, help_text="JSON Pointer into the resource type.")
    scope = ScopeRead(allow_null=True, help_text="Whose override sets it; null if no override does.")
    version = serializers.IntegerField(allow_null=True, help_text="Of that override.")


class PodPreviewRead(serializers.Serializer[Any]):
    pod = AnyJSONField(help_text="Null if Flyte would fail the task.")
    text = serializers.CharField(allow_blank=True, help_text="The pod as YAML.")
    failure = serializers.CharField(allow_blank=True, help_text="Why there is no pod.")
    pod_template = serializers.CharField(allow_blank=True, help_text="PodTemplate that applies.")
    sources = PodValueSource(many=True)
    notes = serializers.ListField(child=serializers.CharField(), help_text="What has no effect, and why.")


def task_from(body: Mapping[str, Any]) -> Task:
    """Return the task of the request. Raises InvalidRequest."""
    errors = [
        error
        for name in ("container", "pod_spec")
        if name in body
        for error in shape_errors(name, body[name], f"/task/{name}")
    ]
    if ("container" in body) == ("pod_spec" in body):
        errors.append(FieldError("/task", "required", "A task has either `container` or `pod_spec`."))
    _refuse(errors)
    return Task(
        container=body.get("container", {}),
        pod_spec=body.get("pod_spec"),
        metadata={name: body[name] for name in ("labels", "annotations") if body[name]},
        primary_container_name=body["primary_container_name"],
        pod_template_name=body["pod_template_name"],
        accelerator=Accelerator(**body["accelerator"]) if "accelerator" in body else None,
    )


def templates_from(body: list[Mapping[str, Any]]) -> list[PodTemplate]:
    """Return the PodTemplates of the request. Raises InvalidRequest."""
    _refuse(shape_errors("pod_templates", body, "/pod_templates"))
    return [
        PodTemplate(
            each["metadata"]["namespace"],
            each["metadata"]["name"],
            each["template"].get("metadata") or {},
            each["template"]["spec"],
        )
        for each in body
    ]


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise InvalidRequest(" ".join(error.message for error in errors[:3]), errors=errors)


def show_preview(preview: Preview, configured: PodConfiguration) -> dict[str, Any]:
    of_pod = {"metadata": preview.metadata, "spec": preview.spec}
    pod = {"apiVersion": "v1", "kind": "Pod", **plain(of_pod)}
    template = preview.template
    return {
        "pod": None if preview.failure else pod,
        "text": "" if preview.failure else strict_yaml.dump(pod),
        "failure": preview.failure,
        "pod_template": f"{template.namespace}/{template.name}" if template else "",
        "sources": [_show_source(pointer, source, configured) for pointer, source in sources(of_pod)],
        "notes": preview.notes,
    }


def _show_source(pointer: str, source: Source, configured: PodConfiguration) -> dict[str, Any]:
    layer = configured.layers.get((source.kind, source.setting))
    is_set = layer is not None and not layer.is_default
    return {
        "pointer": pointer,
        "source": source.kind,
        "name": source.name,
        "setting": source.setting,
        "scope": show_scope(layer.scope) if layer and is_set else None,
        "version": layer.origin.version if layer and is_set else None,
    }
