"""Cluster resources: values for the templates of each project-domain's namespace."""

from controlplane.scopes import Level
from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import map_of_text, object_of

# The cluster resource controller sets these itself.
_PLACEHOLDER = {
    "minLength": 1,
    "not": {"enum": ["namespace", "project", "domain"]},
    "x-hint": "Flyte sets namespace, project and domain itself. Choose another placeholder.",
}

CLUSTER_RESOURCE = ResourceType(
    name="cluster_resource",
    number=1,
    title="Cluster resources",
    meaning="Values for the placeholders of a namespace's Kubernetes templates, such as quotas.",
    document_key="clusterResourceAttributes",
    rule=MergeRule(Strategy.MERGE),
    schema=object_of(attributes=map_of_text("Values by placeholder.", names=_PLACEHOLDER)),
    not_at=dict.fromkeys(
        (Level.WORKFLOW, Level.LAUNCH_PLAN),
        "namespaces exist per project and domain, so more specific values would never be used.",
    ),
    example={"attributes": {"projectQuotaCpu": "1000", "projectQuotaMemory": "5Ti"}},
)
