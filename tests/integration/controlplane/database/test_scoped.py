"""Two copies of "covers" exist, in Python and in SQL: they agree over every legal pair."""

import itertools

import pytest
from django.db import IntegrityError, transaction

from controlplane.scopes import SEGMENTS, SHAPES
from overrides.models import Override
from tests.unit.controlplane.test_scopes import LEGAL

pytestmark = pytest.mark.django_db


@pytest.fixture
def _a_row_at_every_scope():
    Override.objects.bulk_create(
        Override(resource_type="t", **scope.segments, attributes={}, version=1, revision=1) for scope in LEGAL
    )


@pytest.mark.usefixtures("_a_row_at_every_scope")
@pytest.mark.parametrize("target", LEGAL, ids=str)
def test_sql_and_python_agree_on_who_covers_whom(target):
    assert {row.scope for row in Override.objects.covering(target)} == {
        scope for scope in LEGAL if scope.covers(target)
    }


@pytest.mark.usefixtures("_a_row_at_every_scope")
@pytest.mark.parametrize("grant", LEGAL, ids=str)
def test_sql_and_python_agree_on_what_a_grant_shows(grant):
    assert {row.scope for row in Override.objects.within([grant])} == {
        scope for scope in LEGAL if grant.covers(scope)
    }


@pytest.mark.usefixtures("_a_row_at_every_scope")
def test_without_a_grant_nothing_is_shown():
    assert not Override.objects.within([]).exists()


@pytest.mark.parametrize("filled", list(itertools.product(["", "x"], repeat=4)), ids=repr)
def test_the_database_refuses_every_other_shape(filled):
    segments = dict(zip(SEGMENTS, filled, strict=True))
    legal = frozenset(name for name, value in segments.items() if value) in SHAPES
    row = Override(resource_type="t", **segments, attributes={}, version=1, revision=1)

    if legal:
        row.save(force_insert=True)
        return
    with pytest.raises(IntegrityError, match="override_has_legal_shape"), transaction.atomic():
        row.save(force_insert=True)
