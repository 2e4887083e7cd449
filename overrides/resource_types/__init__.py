"""The built-in resource types, one file each, by name and in the order of Flyte's enum. Pure."""

from overrides.resource_types.built_in.cluster_assignment import CLUSTER_ASSIGNMENT
from overrides.resource_types.built_in.cluster_resource import CLUSTER_RESOURCE
from overrides.resource_types.built_in.execution_cluster_label import EXECUTION_CLUSTER_LABEL
from overrides.resource_types.built_in.execution_queue import EXECUTION_QUEUE
from overrides.resource_types.built_in.plugin_override import PLUGIN_OVERRIDE
from overrides.resource_types.built_in.quality_of_service import QUALITY_OF_SERVICE
from overrides.resource_types.built_in.task_resource import TASK_RESOURCE
from overrides.resource_types.built_in.workflow_execution_config import WORKFLOW_EXECUTION_CONFIG
from overrides.resource_types.definition import ResourceType

__all__ = ["BUILT_IN", "ResourceType"]

BUILT_IN: dict[str, ResourceType] = {
    resource_type.name: resource_type
    for resource_type in (
        TASK_RESOURCE,
        CLUSTER_RESOURCE,
        EXECUTION_QUEUE,
        EXECUTION_CLUSTER_LABEL,
        QUALITY_OF_SERVICE,
        PLUGIN_OVERRIDE,
        WORKFLOW_EXECUTION_CONFIG,
        CLUSTER_ASSIGNMENT,
    )
}
