"""Querysets whose SQL is composed once in a process, for statements that run with each request.

Composing such a statement costs Django more processor time than running it costs Postgres.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models

from controlplane.database.direct import direct_connection, literals, read_rows
from controlplane.database.instances import InstanceMaker, Row

M = TypeVar("M", bound=models.Model)


class CompiledQuery(Generic[M]):
    """build: returns the queryset for values. examples: such values, which occur nowhere else in it."""

    def __init__(self, build: Callable[..., models.QuerySet[M]], *examples: Any) -> None:
        self._build = build
        self._examples = examples
        self._lock = threading.Lock()
        self._statement: Statement | None = None

    def rows(self, *values: Any) -> list[M]:
        """Run the statement with these values in place of the examples; return the instances."""
        opened = direct_connection()
        if opened is None:
            (instances,) = run_together((self, values))
            return instances
        statement = self.statement()
        text = statement.text(literals(opened, statement.parameters(values)))
        return statement.instances(read_rows(opened, text))

    def first(self, *values: Any) -> M | None:
        """Return the first instance, or None."""
        return next(iter(self.rows(*values)), None)

    def statement(self) -> Statement:
        """Return the composed statement."""
        if self._statement is None:
            with self._lock:
                self._statement = Statement(self._build(*self._examples), self._examples)
        return self._statement


def run_together(*queries: tuple[CompiledQuery[Any], Sequence[Any]]) -> list[list[Any]]:
    """Run statements, each with its values, in one round trip; return the instances of each.

    Each sees what was committed before it began, as if they were run one after the other.
    """
    statements = [(query.statement(), values) for query, values in queries]
    parameters = [value for statement, values in statements for value in statement.parameters(values)]
    results = []
    with connection.cursor() as cursor:
        cursor.execute(";".join(statement.sql for statement, _ in statements), parameters)
        for statement, _ in statements:
            results.append(statement.instances(cursor.fetchall()))
            cursor.nextset()
    return results


class Statement:
    """The SQL of a queryset, and how to make instances of its rows."""

    def __init__(self, queryset: models.QuerySet[Any], examples: Sequence[Any]) -> None:
        compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self.sql, parameters = compiler.as_sql()
        self._parameters = tuple(parameters)
        self._pieces = [piece.replace("%%", "%").encode() for piece in self.sql.split("%s")]
        # For each example, the positions of its parameters.
        self._positions = [_positions(self._parameters, example) for example in examples]
        self._maker = InstanceMaker(compiler)

    def parameters(self, values: Sequence[Any]) -> list[Any]:
        """Return the parameters with these values in place of the examples."""
        parameters = list(self._parameters)
        for positions, value in zip(self._positions, values, strict=True):
            for position in positions:
                parameters[position] = value
        return parameters

    def text(self, parameters: Sequence[bytes]) -> bytes:
        """Return the SQL with these literals as its parameters."""
        pairs = zip(self._pieces, [*parameters, b""], strict=True)
        return b"".join(part for pair in pairs for part in pair)

    def instances(self, rows: Sequence[Row]) -> list[Any]:
        """Return the model instances of the rows."""
        return self._maker.instances(rows)


def _positions(parameters: Sequence[Any], example: Any) -> list[int]:
    # Django wraps bytes in an object of the driver.
    plain = [getattr(parameter, "obj", parameter) for parameter in parameters]
    positions = [index for index, parameter in enumerate(plain) if parameter == example]
    if not positions:
        raise RuntimeError(f"The example {example!r} is no parameter of the statement.")
    return positions
