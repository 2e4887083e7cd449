"""Cluster assignment: which pool of clusters runs the executions."""

from controlplane.scopes import Level
from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import object_of, text

CLUSTER_ASSIGNMENT = ResourceType(
    name="cluster_assignment",
    number=7,
    title="Cluster assignment",
    meaning="The pool of clusters that runs the executions.",
    document_key="clusterAssignment",
    rule=MergeRule(Strategy.REPLACE),
    schema=object_of(cluster_pool_name=text("Name of the pool.", minLength=1)),
    not_at=dict.fromkeys(
        (Level.WORKFLOW, Level.LAUNCH_PLAN),
        "the pool is looked up by project and domain, so more specific values would never be used.",
    ),
    example={"cluster_pool_name": "gpu-pool"},
)
