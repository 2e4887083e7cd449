"""The parameter `q` of lists: text that one of some fields contains, ignoring case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q
from rest_framework import serializers

from controlplane.api.fields import Text

MAX_LENGTH = 255


class SearchField(Text):
    """Text to search for. The value is a filter of rows; without text it lets all pass.

    columns: of the rows, by the field of an item that has their content. note: what else readers must know.
    """

    def __init__(self, *fields: str, note: str = "", **columns: str) -> None:
        self.columns = {**{name: name for name in fields}, **columns}
        names = [f"`{name}`" for name in self.columns]
        listed = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
        super().__init__(
            required=False,
            default="",
            allow_blank=True,
            max_length=MAX_LENGTH,
            help_text=f"Only items with this text in {listed}, ignoring case.{note and ' '}{note}",
        )

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return contains(super().run_validation(data), [*self.columns.values()])


def contains(text: str, columns: Sequence[str]) -> Q:
    """Return a filter for rows with the text in one of the columns."""
    condition = Q()
    for column in columns if text else ():
        condition |= Q(**{f"{column}__icontains": text})
    return condition
