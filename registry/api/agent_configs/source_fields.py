"""The name of a source of documents, which is open: registered clusters are sources, too."""

from __future__ import annotations

from typing import Any

from controlplane.api.fields import Text
from registry.agent_configs.source_models import CLUSTER_NAME_LENGTH


class SourceName(Text):
    """`api`, `folder`, `kubernetes`, or the name of a registered cluster."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", CLUSTER_NAME_LENGTH)
        options.setdefault("help_text", "`api`, `folder`, `kubernetes`, or the name of a registered cluster.")
        super().__init__(**options)
