"""Model instances made of rows without Django's constructor, for what is only read.

The constructor sets attribute by attribute and sends two signals: it was the greatest cost of a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

import msgspec
from django.db import DEFAULT_DB_ALIAS, models
from django.db.models.base import ModelState
from django.db.models.expressions import Col
from django.db.models.query import ModelIterable
from django.db.models.signals import post_init, pre_init

M = TypeVar("M", bound=models.Model)
Row = Sequence[Any]


def load_instances(queryset: models.QuerySet[M]) -> list[M]:
    """Run the queryset; return its instances with relations and annotations, as iterating it would."""
    plain: Any = queryset
    if plain._iterable_class is not ModelIterable or plain._prefetch_related_lookups:
        return list(queryset)
    if plain._known_related_objects or plain._result_cache is not None:
        return list(queryset)
    compiler = plain.query.get_compiler(plain.db)
    rows = list(chain.from_iterable(compiler.execute_sql() or ()))
    return InstanceMaker(compiler, plain.db).instances(rows)


class InstanceMaker:
    """Makes instances of the rows of a compiler whose statement is composed, with all their relations."""

    def __init__(self, compiler: Any, alias: str = DEFAULT_DB_ALIAS) -> None:
        self._root = _Part(compiler.klass_info, compiler.select, alias)
        self._annotations = compiler.annotation_col_map or {}
        self._connection = compiler.connection
        self._converters = compiler.get_converters([item[0] for item in compiler.select])

    def instances(self, rows: Sequence[Row]) -> list[Any]:
        """Return the instances of rows as the driver loads them."""
        return [self._make(row) for row in _converted(rows, self._converters, self._connection)]

    def _make(self, row: Row) -> Any:
        instance = self._root.make(row)
        for name, position in self._annotations.items():
            setattr(instance, name, row[position])
        return instance


class _Part:
    """The columns of a row that belong to one model, and the parts of its relations."""

    def __init__(self, klass: dict[str, Any], select: Sequence[Any], alias: str) -> None:
        columns = {select[index][0].target.attname: index for index in klass["select_fields"]}
        self._model, self._alias = klass["model"], alias
        self._names, self._values_of = tuple(columns), _getter(tuple(columns.values()))
        self._key = columns[self._model._meta.pk.attname]
        self._create = self._from_values if _is_plain(self._model) else self._from_db
        self._related = [
            (_Part(related, select, alias), related["local_setter"], related["remote_setter"])
            for related in klass.get("related_klass_infos", ())
        ]

    def make(self, row: Row) -> Any:
        """Return the instance; None if the row has none."""
        if row[self._key] is None:
            return None
        instance = self._create(self._values_of(row))
        for part, set_here, set_there in self._related:
            related = part.make(row)
            set_here(instance, related)
            if related is not None:
                set_there(related, instance)
        return instance

    def _from_values(self, values: Sequence[Any]) -> Any:
        instance = self._model.__new__(self._model)
        state = ModelState()
        state.adding, state.db = False, self._alias
        attributes = dict(zip(self._names, values, strict=True))
        attributes["_state"] = state
        instance.__dict__ = attributes
        return instance

    def _from_db(self, values: Sequence[Any]) -> Any:
        create: Callable[..., Any] = self._model.from_db
        return create(self._alias, self._names, values)


def _is_plain(model: Any) -> bool:
    """Return whether nothing but the values makes an instance: no code of the model's own, no signal."""
    own_code = model.__init__ is not models.Model.__init__ or "from_db" in vars(model)
    return not own_code and not pre_init.has_listeners(model) and not post_init.has_listeners(model)


def _getter(positions: tuple[int, ...]) -> Callable[[Row], Sequence[Any]]:
    return itemgetter(*positions) if len(positions) > 1 else lambda row: [row[positions[0]]]


def _converted(rows: Sequence[Row], converters: Mapping[int, Any], connection: Any) -> Iterable[Row]:
    """Return the rows with the values of their fields, converted column by column."""
    if not rows or not converters:
        return rows
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for position, (functions, expression) in converters.items():
        if _is_document(functions, expression):
            columns[position] = [_document(text) for text in columns[position]]
            continue
        for convert in functions:
            columns[position] = [convert(value, expression, connection) for value in columns[position]]
    return zip(*columns, strict=True)


def _is_document(functions: Sequence[Any], expression: Any) -> bool:
    """Return whether Django would parse the column as JSON, and do nothing else with it."""
    if len(functions) != 1 or not isinstance(expression, Col):
        return False
    field = getattr(functions[0], "__self__", None)
    return type(field) is models.JSONField and field.decoder is None


def _document(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:  # a number that only Python's parser rounds
        return json.loads(text)
