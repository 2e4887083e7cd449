"""The form of a pod preview, and how its answer is shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console.overrides.value_text import format_value
from controlplane.errors import FieldError, InvalidRequest, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.scopes import SEGMENTS, Scope

EXAMPLE = {
    "task": """\
container:
  image: example/task:v1
  resources:
    requests: {cpu: "1", memory: 1Gi}
pod_template_name: flyte-default
""",
    "pod_templates": """\
apiVersion: v1
kind: PodTemplate
metadata: {name: flyte-default, namespace: flyte}
template:
  metadata:
    labels: {team: data}
  spec:
    containers:
      - name: default
        imagePullPolicy: Always
""",
}
_SOURCES = {
    "task": "task",
    "flyte": "Flyte",
    "pod_template": "PodTemplate",
    "k8s_plugin": "k8s_plugin",
    "gpu_node_labels": "gpu_node_labels",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A value of the pod. scope: whose override sets it; None if no override does."""

    pointer: str
    value: str
    source: str
    detail: str
    resource_type: str
    scope: Scope | None
    version: int | None


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API's request. Raises InvalidRequest with every error."""
    errors: list[FieldError] = []
    documents = {name: _documents(form[name], name, errors) for name in ("task", "pod_templates")}
    if not errors and len(documents["task"]) != 1:
        message = "Write one document: a task with container or pod_spec."
        errors.append(FieldError("/task", "required", message))
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)
    plain = ("project", "domain", "namespace", "propeller_namespace")
    return {
        **{name: form[name].strip() for name in plain},
        "task": documents["task"][0],
        "pod_templates": documents["pod_templates"],
    }


def row(pod: Any, source: Mapping[str, Any]) -> Row:
    """Return a value of the pod with its source, as the API answers it."""
    kind, scope = source["source"], source["scope"]
    is_type = kind not in ("task", "flyte", "pod_template")
    return Row(
        source["pointer"],
        format_value(_value_at(pod, source["pointer"])),
        _SOURCES.get(kind, kind),
        source["name"] or source["setting"],
        kind if is_type else "",
        Scope(**{name: scope[name] or "" for name in SEGMENTS}) if scope else None,
        source["version"],
    )


def _documents(text: str, name: str, errors: list[FieldError]) -> list[Any]:
    """Return the documents of a field; a list of them is as good as several. Adds what is wrong to errors."""
    try:
        found = strict_yaml.load_all(text)
    except MalformedBody as error:
        errors.append(FieldError(f"/{name}", "malformed", error.detail))
        return []
    return [each for document in found for each in (document if isinstance(document, list) else [document])]


def _value_at(pod: Any, pointer: str) -> Any:
    value = pod
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value
