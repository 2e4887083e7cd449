"""Quality of service: how long an execution may wait. FlyteAdmin has the type but cannot write it."""

from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import DURATION, choice, object_of, text

QUALITY_OF_SERVICE = ResourceType(
    name="quality_of_service_specification",
    number=4,
    title="Quality of service",
    meaning="How long an execution may wait before it starts: a tier or a queueing budget.",
    document_key="qualityOfService",
    rule=MergeRule(Strategy.REPLACE),
    schema={
        **object_of(
            tier=choice("Service class.", "UNDEFINED", "HIGH", "MEDIUM", "LOW"),
            spec=object_of(
                "Instead of a tier.",
                queueing_budget=text(
                    "Seconds, such as 30s or 1.5s; at most 315576000000s.", pattern=DURATION, examples=["30s"]
                ),
            ),
        ),
        # Flyte's oneof `designation`: tier or spec, not both.
        "maxProperties": 1,
    },
    example={"tier": "HIGH"},
)
