"""Task resources: what task containers ask for and may ask for at most."""

from overrides.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import object_of, quantity


def _amounts(description: str) -> dict[str, object]:
    return object_of(
        description,
        cpu=quantity("CPU cores, such as 2 or 500m."),
        gpu=quantity("Whole GPUs."),
        memory=quantity("Bytes, such as 500Mi."),
        storage=quantity("Bytes. Flyte itself ignores it."),
        ephemeral_storage=quantity("Bytes of local disk."),
    )


TASK_RESOURCE = ResourceType(
    name="task_resource",
    number=0,
    title="Task resources",
    meaning="Defaults and limits of CPU, memory, GPU and disk for task containers.",
    document_key="taskResources",
    rule=MergeRule(Strategy.MERGE),
    schema=object_of(
        defaults=_amounts("Become request and limit where a task names none."),
        limits=_amounts("No request or limit of a task may exceed these."),
    ),
    example={
        "defaults": {"cpu": "1", "memory": "500Mi"},
        "limits": {"cpu": "3", "memory": "2Gi", "gpu": "4"},
    },
)
