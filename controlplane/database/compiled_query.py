"""Querysets whose SQL is composed once in a process, for statements that run with each request.

Composing such a statement costs Django more processor time than running it costs Postgres.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=models.Model)
Row = Sequence[Any]


class CompiledQuery(Generic[M]):
    """build: returns the queryset for values. examples: such values, which occur nowhere else in it."""

    def __init__(self, build: Callable[..., models.QuerySet[M]], *examples: Any) -> None:
        self._build = build
        self._examples = examples
        self._lock = threading.Lock()
        self._statement: _Statement | None = None

    def rows(self, *values: Any) -> list[M]:
        """Run the statement with these values in place of the examples; return the instances."""
        if self._statement is None:
            with self._lock:
                self._statement = _Statement(self._build(*self._examples), self._examples)
        return self._statement.run(values)

    def first(self, *values: Any) -> M | None:
        """Return the first instance, or None."""
        return next(iter(self.rows(*values)), None)


class _Statement:
    def __init__(self, queryset: models.QuerySet[Any], examples: Sequence[Any]) -> None:
        compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self._sql, parameters = compiler.as_sql()
        self._parameters = tuple(parameters)
        # For each example, the positions of its parameters.
        self._positions = [_positions(self._parameters, example) for example in examples]
        self._compiler = compiler
        self._converters = compiler.get_converters([item[0] for item in compiler.select])
        self._instances = _Instances(compiler)

    def run(self, values: Sequence[Any]) -> list[Any]:
        parameters = list(self._parameters)
        for positions, value in zip(self._positions, values, strict=True):
            for position in positions:
                parameters[position] = value
        with connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            rows: Iterable[Row] = cursor.fetchall()
        if self._converters:
            rows = self._compiler.apply_converters(rows, self._converters)
        return [self._instances.make(row) for row in rows]


class _Instances:
    """Makes model instances of rows, as django.db.models.query.ModelIterable does."""

    def __init__(self, compiler: Any) -> None:
        klass = compiler.klass_info
        fields = klass["select_fields"]
        self._model, self._start, self._end = klass["model"], fields[0], fields[-1] + 1
        self._names = [item[0].target.attname for item in compiler.select[self._start : self._end]]
        populators: Any = get_related_populators  # the stubs are of a later Django, with one more argument
        self._related = populators(klass, compiler.select, DEFAULT_DB_ALIAS)
        self._annotations = compiler.annotation_col_map or {}

    def make(self, row: Row) -> Any:
        instance = self._model.from_db(DEFAULT_DB_ALIAS, self._names, row[self._start : self._end])
        for related in self._related:
            related.populate(row, instance)
        for name, position in self._annotations.items():
            setattr(instance, name, row[position])
        return instance


def _positions(parameters: Sequence[Any], example: Any) -> list[int]:
    # Django wraps bytes in an object of the driver.
    plain = [getattr(parameter, "obj", parameter) for parameter in parameters]
    positions = [index for index, parameter in enumerate(plain) if parameter == example]
    if not positions:
        raise RuntimeError(f"The example {example!r} is no parameter of the statement.")
    return positions
