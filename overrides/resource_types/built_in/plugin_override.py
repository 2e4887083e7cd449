"""Plugin overrides: which plugin runs a task type."""

from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import choice, list_of, named_item, object_of, text

PLUGIN_OVERRIDE = ResourceType(
    name="plugin_override",
    number=5,
    title="Plugin overrides",
    meaning="The plugins to try in order for a task type, and what to do if none is available.",
    document_key="pluginOverrides",
    rule=MergeRule(Strategy.MERGE, {("overrides",): "task_type"}),
    schema=object_of(
        overrides=list_of(
            named_item(
                "task_type",
                task_type=text("Task type, such as spark."),
                plugin_id=list_of(text(minLength=1), "Tried in order."),
                missing_plugin_behavior=choice(
                    "If no plugin of the list is available.", "FAIL", "USE_DEFAULT"
                ),
            ),
            "Merged by task_type.",
        )
    ),
    example={
        "overrides": [
            {
                "task_type": "spark",
                "plugin_id": ["spark-on-k8s"],
                "missing_plugin_behavior": "USE_DEFAULT",
            }
        ]
    },
)
