"""Spans of SQL statements, only while a span is recorded: otherwise statements cost what they always do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import connection

from controlplane.observability.traces import spans
from controlplane.observability.traces.semantics import statement_attributes, statement_name

_NOTHING = nullcontext()


def traced_statements(span: spans.Span) -> AbstractContextManager[Any]:
    """Give each statement of the block in this thread a span of its own, if `span` is recorded."""
    return connection.execute_wrapper(_execute) if span.is_recording else _NOTHING


def _execute(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    statement = sql if isinstance(sql, str) else sql.as_string(context["connection"].connection)
    attributes = statement_attributes(statement, str(connection.settings_dict["NAME"]))
    with spans.span(statement_name(statement), "client", attributes=attributes):
        return execute(sql, params, many, context)
