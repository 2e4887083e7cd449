"""Names and attributes of spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.observability.traces.semantics import (
    method_of,
    server_attributes,
    server_name,
    statement_attributes,
    statement_name,
)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ('SELECT "registry_agent"."id" FROM "registry_agent" WHERE x = %s', "SELECT registry_agent"),
        ("\n insert INTO events_event (id) VALUES (%s)", "INSERT events_event"),
        ('UPDATE "overrides_override" SET value = %s', "UPDATE overrides_override"),
        ("SAVEPOINT s1", "SAVEPOINT"),
        ("", "SQL"),
    ],
)
def test_a_statement_is_named_by_its_operation_and_table(statement, name):
    assert statement_name(statement) == name


def test_a_statement_has_no_literals():
    told = statement_attributes("SELECT * FROM t WHERE a = 'it''s' AND b = %s AND c = ''", "controlplane")
    assert told["db.query.text"] == "SELECT * FROM t WHERE a = ? AND b = %s AND c = ?"
    assert (told["db.system.name"], told["db.namespace"]) == ("postgresql", "controlplane")


@given(st.text(alphabet="ab'_ ", max_size=30))
def test_no_quoted_text_is_left(text):
    quoted = text.replace("'", "''")
    told = statement_attributes(f"SELECT '{quoted}', 1", "controlplane")
    assert told["db.query.text"] == "SELECT ?, 1"


def test_long_statements_are_cut():
    assert len(statement_attributes("SELECT " + "x, " * 5000, "c")["db.query.text"]) == 2000


def test_a_method_that_could_be_anything_is_not_shown():
    assert (method_of("GET"), method_of("hunter2")) == ("GET", "_OTHER")
    assert (server_name("hunter2", "/a"), server_name("PUT", "")) == ("HTTP /a", "PUT")


def test_a_token_in_a_path_is_cut():
    path = "/api/v1/things/cp_pat_AbCd0123456789012345"
    assert server_attributes("GET", path, "https", "r")["url.path"] == "/api/v1/things/cp_pat_AbCd…"
