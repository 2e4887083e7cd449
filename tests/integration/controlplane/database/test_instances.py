"""Instances made without Django's constructor equal those of iterating the queryset."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import DataError, connection
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord, Principal, RoleBinding, Token
from controlplane.access.principals import create_token
from controlplane.database.instances import load_instances
from controlplane.identity.roles import Role
from overrides.models import Domain, Override, Project
from registry.agents.models import Agent
from tests.support.api_client import ACTOR, make_principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer():
    viewer = make_principal(Role.VIEWER)
    create_token(viewer, name="t", expires_at=None, actor=ACTOR)
    return viewer


def facts(instance):
    """The attributes of an instance, and those of its loaded relations."""
    state = instance._state
    stored = {name: value for name, value in vars(instance).items() if name != "_state"}
    related = {name: row and vars(row)["id"] for name, row in state.fields_cache.items()}
    return stored, related, state.adding, state.db


@pytest.mark.parametrize(
    "rows",
    [
        Token.objects.select_related("principal", "oauth__client", "parent").annotate(since=Now()),
        Token.objects.only("name"),
        RoleBinding.objects.select_related("principal", "custom_role", "owned_by"),
        AuditRecord.objects.order_by("-id"),
        Domain.objects.all(),
        Principal.objects.prefetch_related("tokens"),
        Principal.objects.none(),
    ],
)
def test_instances_are_those_of_the_queryset(viewer, rows):
    expected = list(rows.all())

    instances = load_instances(rows.all())

    assert instances == expected
    for instance, row in zip(instances, expected, strict=True):
        (stored, *others), (stored_there, *others_there) = facts(instance), facts(row)
        stored.pop("since", None), stored_there.pop("since", None)
        stored.pop("_prefetched_objects_cache", None), stored_there.pop("_prefetched_objects_cache", None)
        assert (stored, others) == (stored_there, others_there)


def test_a_relation_costs_no_query_and_a_field_that_was_left_out_costs_one(viewer, django_assert_num_queries):
    with django_assert_num_queries(1):
        (token,) = load_instances(Token.objects.select_related("principal"))
        assert token.principal.name == viewer.name
    (token,) = load_instances(Token.objects.only("name"))
    with django_assert_num_queries(1):
        assert token.principal_id == viewer.id


def test_an_instance_can_be_saved(viewer):
    (token,) = load_instances(Token.objects.all())
    token.name = "renamed"
    token.save()

    assert Token.objects.get().name == "renamed"


@pytest.mark.parametrize("model", [Agent, AuditRecord, Domain, Override, Project])
def test_listed_models_have_no_code_that_loading_would_skip(model):
    from controlplane.database.instances import _is_plain

    assert _is_plain(model)


@pytest.mark.parametrize(
    "labels", [None, {}, {"a": [1, 0.1, -0.0, True, None, "é\u20ac"]}, {"large": 10**40, "beyond": [10**400]}]
)
def test_documents_are_those_that_django_parses(labels):
    Project.objects.create(id="p", name="p", labels=labels)

    (project,) = load_instances(Project.objects.filter(id="p"))

    assert project.labels == labels == Project.objects.get(id="p").labels
    assert repr(project.labels) == repr(Project.objects.get(id="p").labels)


def test_timestamps_are_those_of_django():
    texts = ["2026-11-23 03:30:15+00", "2026-11-23 03:30:15.5+00", "0001-01-01 00:00:00.000001+00"]
    with connection.cursor() as cursor:
        for text in texts:
            cursor.execute("SELECT %s::timestamptz", [text])
            (loaded,) = cursor.fetchone()
            assert (loaded, loaded.tzinfo) == (datetime.fromisoformat(text), UTC)
        for unsupported in ("infinity", "0044-03-15 00:00:00+00 BC", "12000-01-01 00:00:00+00"):
            cursor.execute("SELECT %s::timestamptz", [unsupported])
            with pytest.raises(DataError):
                cursor.fetchone()


def test_timestamps_of_a_connection_elsewhere_are_the_same_moments():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TimeZone = 'Asia/Kolkata'")
        cursor.execute("SELECT '2026-11-23 03:30:15.25+00'::timestamptz")
        (loaded,) = cursor.fetchone()

    assert loaded.tzinfo is UTC
