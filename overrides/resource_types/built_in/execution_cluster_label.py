"""Execution cluster label: pins executions to one cluster."""

from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import object_of, text

EXECUTION_CLUSTER_LABEL = ResourceType(
    name="execution_cluster_label",
    number=3,
    title="Execution cluster label",
    meaning="In a multi-cluster installation, the label of the cluster that runs the executions.",
    document_key="executionClusterLabel",
    rule=MergeRule(Strategy.REPLACE),
    schema=object_of(value=text("Cluster label.", minLength=1)),
    example={"value": "eu-west-gpu"},
)
