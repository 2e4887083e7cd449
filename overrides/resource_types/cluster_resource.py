"""Cluster resources: values for the templates of each project-domain's namespace."""

from overrides.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import map_of_text, object_of

CLUSTER_RESOURCE = ResourceType(
    name="cluster_resource",
    number=1,
    title="Cluster resources",
    meaning="Free pairs that fill the placeholders of a namespace's Kubernetes templates, such as quotas.",
    document_key="clusterResourceAttributes",
    rule=MergeRule(Strategy.MERGE),
    schema=object_of(attributes=map_of_text("Placeholder to value.")),
    example={"attributes": {"projectQuotaCpu": "1000", "projectQuotaMemory": "5Ti"}},
)
