"""A compiled query returns what its queryset returns, for each value, and without further queries."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now

from controlplane.access import role_bindings
from controlplane.access.authentication import bindings_of
from controlplane.access.models import Token
from controlplane.access.principals import create_token
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.database.compiled_query import CompiledQuery, run_together
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_principal

pytestmark = pytest.mark.django_db


def test_relations_and_annotations_are_those_of_the_queryset(django_assert_num_queries):
    def with_name(name):
        return (
            Token.objects.filter(name=name).select_related("principal", "oauth__client").annotate(now=Now())
        )

    query = CompiledQuery(with_name, "an example")
    for name in ("first", "second"):
        create_token(make_principal(Role.VIEWER), name=name, expires_at=None, actor=ACTOR)

    for name in ("first", "second"):
        with django_assert_num_queries(1):
            token = query.first(name)
            assert (token.name, token.principal.is_active, getattr(token, "oauth", None)) == (
                name,
                True,
                None,
            )
        expected = with_name(name).get()
        assert token == expected
        assert vars(token).keys() == vars(expected).keys()
        assert token.now >= token.created_at
    assert query.first("third") is None


def test_each_value_has_its_own_rows():
    query = CompiledQuery(bindings_of, UUID(int=0))
    own, member = make_principal(Role.ADMIN), make_principal()
    team = create_team("ml", actor=ACTOR)
    add_member(team, member, actor=ACTOR)
    role_bindings.bind_role(team, Role.EDITOR, Scope(project=""), actor=ACTOR)

    for principal in (own, member, own):
        found = query.rows(principal.id)
        assert found == list(bindings_of(principal.id))
        assert [binding.grant for binding in found] == [
            binding.grant for binding in bindings_of(principal.id)
        ]
    assert query.rows(uuid4()) == []


def test_it_composes_the_statement_once(monkeypatch):
    calls = []

    def build(principal_id):
        calls.append(principal_id)
        return bindings_of(principal_id)

    query = CompiledQuery(build, UUID(int=0))
    query.rows(uuid4())
    query.rows(uuid4())

    assert calls == [UUID(int=0)]


def test_an_example_that_is_no_parameter_is_an_error():
    query = CompiledQuery(lambda name: Token.objects.filter(name="fixed"), "an example")

    with pytest.raises(RuntimeError, match="'an example' is no parameter"):
        query.rows("a")


def test_statements_run_together_have_their_own_rows(django_assert_num_queries):
    bindings, names = CompiledQuery(bindings_of, UUID(int=0)), CompiledQuery(_with_name, "an example")
    admin, viewer = make_principal(Role.ADMIN), make_principal(Role.VIEWER)
    for principal in (admin, viewer):
        create_token(principal, name=principal.name, expires_at=None, actor=ACTOR)

    with django_assert_num_queries(1):
        tokens, own, none = run_together(
            (names, [viewer.name]), (bindings, [admin.id]), (bindings, [uuid4()])
        )

    assert [token.principal_id for token in tokens] == [viewer.id]
    assert own == list(bindings_of(admin.id))
    assert none == []


def _with_name(name):
    return Token.objects.filter(name=name)
