"""HTTP endpoint for the Kubernetes resources of a project and domain."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.identity.roles import Action
from controlplane.scopes import MAX_SEGMENT_LENGTH, Scope
from overrides.api.as_of import AsOfQuery, as_of
from overrides.api.effective.warning_schemas import ValueWarning, show_warning
from overrides.api.schemas import AnyJSONField
from overrides.effective.cluster_resources import TEMPLATES, ClusterResources, cluster_resources
from overrides.effective.effective import values_many
from overrides.loading.catalogue_cache import current_catalogue


class ClusterResourcesQuery(AsOfQuery):
    project = serializers.CharField(
        max_length=MAX_SEGMENT_LENGTH, trim_whitespace=False, help_text="Project of the resources."
    )
    domain = serializers.CharField(
        max_length=MAX_SEGMENT_LENGTH, trim_whitespace=False, help_text="Domain of the resources."
    )


class ClusterResourceRead(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Of the template.")
    text = serializers.CharField(allow_blank=True, help_text="The template, filled in.")
    manifest = AnyJSONField(help_text="The same as data; null if there is a warning.")


class ClusterResourcesRead(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    values = serializers.DictField(child=serializers.CharField(), help_text="By placeholder.")
    resources = ClusterResourceRead(many=True, help_text="In the order in which Flyte applies them.")
    warnings = ValueWarning(
        many=True,
        help_text="Placeholders that nothing fills in, values that no template uses, and texts that are no"
        " resource.",
    )


_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flytesnacks-development"}}
_READ = OpenApiExample(
    "A namespace, and a value that no template uses",
    value={
        "namespace": "flytesnacks-development",
        "values": {"projectQuotaCpu": "5", "namespace": "flytesnacks-development"},
        "resources": [
            {
                "name": "aa_namespace",
                "text": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: flytesnacks-development\n",
                "manifest": _NAMESPACE,
            }
        ],
        "warnings": [
            {
                "resource_type": "cluster_resource",
                "pointer": "/attributes/projectQuotaCpu",
                "code": "unused_value",
                "message": "No template uses 'projectQuotaCpu'. Remove it, or add it to a template.",
            }
        ],
    },
)


class EffectiveClusterResources(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="overrides_effective_cluster_resources",
        summary="Render the cluster resources of a project and domain",
        description="Fills in the templates of `cluster_resource_templates` with the effective attributes of"
        " `cluster_resource`, as Flyte's cluster resource manager does. Define the resource type with"
        " `examples/resource-types/cluster_resource_templates.yaml`.",
        tags=["overrides"],
        parameters=[ClusterResourcesQuery],
        responses=ClusterResourcesRead,
        examples=[_READ],
    )
    def get(self, request: Request) -> Response:
        query = ClusterResourcesQuery.parse(request)
        scope = Scope(project=query["project"], domain=query["domain"])
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        past_revision = as_of(query)
        current_catalogue(past_revision).get(TEMPLATES)
        (effective,) = values_many([scope], as_of=past_revision)
        attributes = {each.resource_type.name: each.attributes for each in effective.types}
        return Response(_show(cluster_resources(scope, attributes)))


def _show(rendered: ClusterResources) -> dict[str, Any]:
    return {
        "namespace": rendered.namespace,
        "values": rendered.values,
        "resources": [
            {"name": each.name, "text": each.text, "manifest": each.manifest} for each in rendered.resources
        ],
        "warnings": [show_warning(each.resource_type, each.error) for each in rendered.warnings],
    }
