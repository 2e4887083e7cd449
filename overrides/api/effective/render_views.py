"""HTTP endpoint that renders effective values for tools that read other formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.scopes import scope_from
from controlplane.formats import strict_yaml
from controlplane.identity.roles import Action
from overrides.api.as_of import ScopeAsOfQuery, as_of
from overrides.api.effective.warning_schemas import ValueWarning, show_warning
from overrides.effective.effective import values_many
from overrides.effective.flyte_helm import Chart, helm_values
from overrides.effective.results import EffectiveValues
from overrides.resource_types.references import reference_warnings

RENDER_CHARTS = [(chart.value, chart.value) for chart in Chart]


class RenderQuery(ScopeAsOfQuery):
    format = serializers.ChoiceField(
        [("flyte-helm", "flyte-helm")],
        required=False,
        default="flyte-helm",
        help_text="Values of one of Flyte's Helm charts.",
    )
    chart = serializers.ChoiceField(
        RENDER_CHARTS, required=False, default=Chart.CORE.value, help_text="Flyte's chart."
    )
    type = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only this resource type."
    )


class RenderRead(serializers.Serializer[Any]):
    content = serializers.DictField(help_text="Values for the chart.")
    text = serializers.CharField(allow_blank=True, help_text="The same as YAML, for `helm upgrade --values`.")
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Resource types and their attributes that are not in it."
    )
    warnings = ValueWarning(
        many=True, help_text="Values that refer to nothing, such as tags without a queue."
    )


_READ = OpenApiExample(
    "GPU nodes",
    value={
        "content": {"configmap": {"k8s": {"plugins": {"k8s": {"gpu-resource-name": "nvidia.com/gpu"}}}}},
        "text": "configmap:\n  k8s:\n    plugins:\n      k8s:\n        gpu-resource-name: nvidia.com/gpu\n",
        "left_out": ["task_resource"],
        "warnings": [],
    },
)


class EffectiveRender(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="overrides_effective_render",
        summary="Render the effective values for a Helm chart",
        description="The values of Flyte's chart for what applies at a scope: links to logs, GPUs, pod"
        " templates, `plugins.k8s`, the secrets webhook, FlytePropeller's tuning, notifications, queues and"
        " templates of cluster resources, by the resource types in `examples/resource-types`. `{{` in values"
        " is escaped where a chart passes its configuration through `tpl`. What is no part of a chart is in"
        " `left_out`.",
        tags=["overrides"],
        parameters=[RenderQuery],
        responses=RenderRead,
        examples=[_READ],
    )
    def get(self, request: Request) -> Response:
        query = RenderQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        (found,) = values_many([scope], resource_type=query["type"], as_of=as_of(query))
        types = [(each.resource_type.name, each.attributes) for each in found.types]
        values = helm_values(types, Chart(query["chart"]))
        text = strict_yaml.dump(values.content) if values.content else ""
        shown = {"content": values.content, "text": text, "left_out": values.left_out}
        return Response({**shown, "warnings": list(_warnings(found))})


def _warnings(found: EffectiveValues) -> Iterator[dict[str, Any]]:
    attributes = {each.resource_type.name: each.attributes for each in found.types}
    warnings = reference_warnings([each.resource_type for each in found.types], attributes)
    for name, errors in warnings.items():
        for error in errors:
            yield show_warning(name, error)
