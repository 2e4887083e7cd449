"""Execution queue: which configured queues run the executions."""

from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import list_of, object_of, text

EXECUTION_QUEUE = ResourceType(
    name="execution_queue",
    number=2,
    title="Execution queue",
    meaning="Tags that must match the attributes of a configured queue.",
    document_key="executionQueueAttributes",
    rule=MergeRule(Strategy.REPLACE),
    schema=object_of(tags=list_of(text(minLength=1), "Tried in order.")),
    example={"tags": ["critical", "gpu"]},
)
