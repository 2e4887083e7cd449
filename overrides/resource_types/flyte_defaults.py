"""Values that FlyteAdmin's code applies where no matchable attribute and no configuration sets one. Pure."""

from __future__ import annotations

from overrides.resolution.merging import Attributes

# FlyteAdmin's configuration file overlays these field by field.
CODE_DEFAULTS: dict[str, Attributes] = {
    "task_resource": {
        "defaults": {"cpu": "2", "memory": "200Mi"},
        "limits": {"cpu": "2", "memory": "1Gi", "gpu": "1"},
    },
    "workflow_execution_config": {"max_parallelism": 25},
}
