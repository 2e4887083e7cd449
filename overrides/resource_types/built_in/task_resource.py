"""Task resources: what task containers ask for and may ask for at most."""

from collections.abc import Iterator, Mapping

from controlplane.errors import FieldError
from controlplane.formats.quantities import amount
from overrides.resolution.merging import Attributes, MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import object_of, quantity, text


def _amounts(description: str) -> dict[str, object]:
    return object_of(
        description,
        cpu=quantity("CPU cores, such as 2 or 500m."),
        gpu=text("Whole GPUs.", pattern="^[0-9]{1,9}$", examples=["1"]),
        memory=quantity("Bytes, such as 500Mi."),
        storage=quantity("Bytes. Flyte itself ignores it."),
        ephemeral_storage=quantity("Bytes of local disk."),
    )


def limits_cover_defaults(attributes: Attributes) -> Iterator[FieldError]:
    """No default may be above its limit. A limit of zero means no limit (FlyteAdmin caps nothing then)."""
    defaults, limits = attributes.get("defaults"), attributes.get("limits")
    if not isinstance(defaults, Mapping) or not isinstance(limits, Mapping):
        return
    for name, default in defaults.items():
        asked, most = amount(default), amount(limits.get(name))
        if asked is not None and most and asked > most:
            yield FieldError(
                f"/limits/{name}",
                "limit_below_default",
                f"The limit of {name}, {limits[name]}, is below its default, {default}.",
                hint=f"Raise limits.{name} or lower defaults.{name}; either may be inherited.",
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
    checks=(limits_cover_defaults,),
    example={
        "defaults": {"cpu": "1", "memory": "500Mi"},
        "limits": {"cpu": "3", "memory": "2Gi", "gpu": "4"},
    },
)
