"""Validation is shared between equal documents, and never between types or versions of a type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.errors import InvalidAttributes
from controlplane.scopes import Scope
from overrides.editing.validation import check_stated
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.merging import MergeRule, Strategy
from overrides.resource_types.catalogue import Catalogue, RuleChange
from overrides.resource_types.definition import ResourceType

WIDE, NARROW = {"type": "object"}, {"type": "object", "properties": {"size": {"maximum": 1}}}
DOCUMENT = {"size": 2}


def a_type(name: str, schema: dict[str, object], version: int = 1) -> ResourceType:
    rule = MergeRule(Strategy.MERGE)
    return ResourceType(name, None, name, "", name, rule, schema, version=version)


def check(*types: ResourceType) -> None:
    catalogue = Catalogue({resource_type.name: resource_type for resource_type in types})
    statements = [
        Statement(Address(name, Scope()), DOCUMENT, pointer=f"/{number}")
        for number, name in enumerate(catalogue.types)
    ]
    check_stated([(statement, None) for statement in statements], RuleChange(catalogue, catalogue))


def test_a_document_that_one_type_accepts_is_still_checked_by_another():
    with pytest.raises(InvalidAttributes) as caught:
        check(a_type("wide", WIDE), a_type("narrow", NARROW))

    assert [error.pointer for error in caught.value.errors] == ["/1/size"]


def test_a_document_that_one_version_accepts_is_still_checked_by_the_next():
    check(a_type("sized", WIDE))

    with pytest.raises(InvalidAttributes):
        check(a_type("sized", NARROW, version=2))


def test_equal_documents_are_validated_once_and_every_error_names_its_own_place(monkeypatch):
    narrow, calls = a_type("narrow", NARROW), []
    errors = ResourceType.errors
    monkeypatch.setattr(ResourceType, "errors", lambda *given: calls.append(given) or errors(*given))
    catalogue = Catalogue({"narrow": narrow})
    first = Statement(Address("narrow", Scope("d", "p")), DOCUMENT, pointer="/first")
    second = replace(first, address=Address("narrow", Scope("d", "q")), pointer="/second")

    with pytest.raises(InvalidAttributes) as caught:
        check_stated([(first, None), (second, None)], RuleChange(catalogue, catalogue))

    assert [error.pointer for error in caught.value.errors] == ["/first/size", "/second/size"]
    assert len(calls) == 1
