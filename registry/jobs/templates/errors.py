"""Errors in templates, with their position. Pure. A message never contains a value, which can be a secret."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template that cannot be parsed or rendered. line, column: from 1."""

    def __init__(self, message: str, source: str, at: int) -> None:
        self.message = message
        self.line = source.count("\n", 0, at) + 1
        self.column = at - (source.rfind("\n", 0, at) + 1) + 1
        super().__init__(f"{message} Line {self.line}, column {self.column}.")


class EvaluationError(ValueError):
    """An operation that failed. The renderer adds the position."""


SUPPORTED = (
    "Supported are fields, pipelines, variables, if, else if, else, with, range over lists, and the "
    "functions Date, replace, trunc, date, date_modify, toDate, unixEpoch, list, join, printf, index, eq, "
    "ne, and, or and not."
)
