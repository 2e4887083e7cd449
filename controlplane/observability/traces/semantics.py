"""Names and attributes of spans, by OpenTelemetry's stable conventions for HTTP and databases. Pure."""

from __future__ import annotations

import re

from controlplane.observability.log_redaction import redacted

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_OPERATION = re.compile(r"\s*([A-Za-z]+)")
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE|COPY|JOIN)\s+"?([A-Za-z_][A-Za-z0-9_]*)"?', re.IGNORECASE)
_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_MOST_CHARACTERS = 2000


def method_of(method: str) -> str:
    """Return a method of HTTP; others could be anything."""
    return method if method in _METHODS else "_OTHER"


def server_name(method: str, route: str) -> str:
    """Return the name of a request's span."""
    known = method_of(method)
    shown = "HTTP" if known == "_OTHER" else known
    return f"{shown} {route}" if route else shown


def server_attributes(method: str, path: str, scheme: str, request_id: str) -> dict[str, str]:
    """Return what is known when a request begins. Queries are left out: logins have their codes in them."""
    return {
        "http.request.method": method_of(method),
        "url.path": redacted(path),
        "url.scheme": scheme,
        "controlplane.request_id": request_id,
    }


def statement_name(statement: str) -> str:
    """Return the operation and its first table, such as `SELECT events_event`."""
    operation, table = operation_of(statement), _TABLE.search(statement[:_MOST_CHARACTERS])
    return f"{operation} {table[1]}" if table else operation


def statement_attributes(statement: str, database: str) -> dict[str, str]:
    """Return the attributes of a statement: its text has placeholders, and no parameters or literals."""
    return {
        "db.system.name": "postgresql",
        "db.namespace": database,
        "db.operation.name": operation_of(statement),
        "db.query.text": _LITERAL.sub("?", statement)[:_MOST_CHARACTERS],
    }


def operation_of(statement: str) -> str:
    match = _OPERATION.match(statement)
    return match[1].upper() if match else "SQL"
