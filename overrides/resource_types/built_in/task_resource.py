"""Task resources: default requests and limits of task containers."""

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
    """Yield an error for each default above its limit. A limit of zero means no limit, as in FlyteAdmin."""
    defaults, limits = attributes.get("defaults"), attributes.get("limits")
    if not isinstance(defaults, Mapping) or not isinstance(limits, Mapping):
        return
    for name, default in defaults.items():
        default_amount, limit = amount(default), amount(limits.get(name))
        if default_amount is not None and limit and default_amount > limit:
            yield FieldError(
                f"/limits/{name}",
                "limit_below_default",
                f"The limit of {name}, {limits[name]}, is below its default, {default}.",
                hint=f"Raise limits.{name} or lower defaults.{name}; one of them may be inherited.",
            )


_AMOUNT_LABELS = {
    "cpu": "CPU",
    "memory": "Memory",
    "gpu": "GPU",
    "ephemeral_storage": "Ephemeral storage",
    "storage": "Storage",
}
_HINTS = {
    "groups": [
        {
            "title": "Defaults and limits",
            "fields": [f"/{half}/{name}" for name in _AMOUNT_LABELS for half in ("defaults", "limits")],
        }
    ],
    "labels": {
        **{f"/defaults/{name}": f"{label} default" for name, label in _AMOUNT_LABELS.items()},
        **{f"/limits/{name}": f"{label} limit" for name, label in _AMOUNT_LABELS.items()},
    },
}

TASK_RESOURCE = ResourceType(
    name="task_resource",
    number=0,
    title="Task resources",
    meaning="Defaults and limits of CPU, memory, GPU and disk for task containers.",
    document_key="taskResources",
    rule=MergeRule(Strategy.MERGE),
    schema=object_of(
        defaults=_amounts("Request and limit of tasks that set none."),
        limits=_amounts("Upper bounds for requests and limits of tasks."),
    ),
    checks=(limits_cover_defaults,),
    hints=_HINTS,
    example={
        "defaults": {"cpu": "1", "memory": "500Mi"},
        "limits": {"cpu": "3", "memory": "2Gi", "gpu": "4"},
    },
)
