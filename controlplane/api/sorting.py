"""The parameter `sort` of lists: several keys, separated by commas, each ascending or with `-` descending."""

from __future__ import annotations

import re
from typing import Any

from drf_spectacular.drainage import set_override
from rest_framework import serializers

from controlplane.api.sort_keys import SortKeys, split


class SortField(serializers.CharField):
    """Keys to sort by. The value is the order: columns for `paginate`."""

    def __init__(self, sort_keys: SortKeys, **options: Any) -> None:
        self.sort_keys = sort_keys
        names = ", ".join(f"`{key}`" for key in sort_keys.columns)
        options.setdefault(
            "help_text", f"Sort by these keys, separated by commas; `-` for descending order. Keys: {names}."
        )
        super().__init__(required=False, **options)
        key = f"-?({'|'.join(map(re.escape, sort_keys.columns))})"
        set_override(self, "field", {"type": "string", "pattern": f"^{key}(,{key})*$"})

    def run_validation(self, data: Any = serializers.empty) -> Any:
        text = super().run_validation(data)
        try:
            return self.sort_keys.order(text)
        except LookupError as error:
            raise serializers.ValidationError(
                f"{error.args[0][:80]!r} is not a sort key of this list. Use one of the allowed keys.",
                code="invalid_choice",
            ) from error

    def unknown_key(self, text: str) -> str:
        """Return the first key in `text` that the list does not sort by."""
        known = self.sort_keys.columns
        return next((key for key in split(text) if key.removeprefix("-") not in known), "")
