"""Quality of service: how long an execution may wait. Upstream has the type and cannot write it."""

from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import DURATION, choice, object_of, text

QUALITY_OF_SERVICE = ResourceType(
    name="quality_of_service_specification",
    number=4,
    title="Quality of service",
    meaning="A tier, or a queueing budget: how long an execution may wait before it starts.",
    document_key="qualityOfService",
    rule=MergeRule(Strategy.REPLACE),
    schema={
        **object_of(
            tier=choice("A named class.", "UNDEFINED", "HIGH", "MEDIUM", "LOW"),
            spec=object_of(
                "In place of a tier.",
                queueing_budget=text(
                    "Seconds, as 30s or 1.5s; 315576000000s at most.", pattern=DURATION, examples=["30s"]
                ),
            ),
        ),
        # Flyte's oneof `designation`: one or the other.
        "maxProperties": 1,
    },
    example={"tier": "HIGH"},
)
