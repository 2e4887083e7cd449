"""Scopes in requests: plain ones skip the fields, with the same result."""

from __future__ import annotations

import pytest
from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, field_errors
from controlplane.api.scopes import ScopeWrite, scope_from

PLAIN = {"project": "p", "domain": "d"}


class BySegments(ScopeWrite):
    """The same fields, without the shortcut, which only ScopeWrite itself takes."""


def outcome(serializer: type[StrictSerializer], data: object) -> object:
    try:
        return scope_from(serializer().run_validation(data))
    except serializers.ValidationError as error:
        return field_errors(error.detail)


@pytest.mark.parametrize(
    "data",
    [
        {},
        PLAIN,
        {"project": " spaces ", "domain": "d"},
        {"project": "p\u00e9\U0001f600"},
        {"project": "a\u200b"},
        {"project": "a\n"},
        {"project": "a\x00"},
        {"project": "x" * 255},
        {"project": "x" * 256},
        {"project": None},
        {"project": 1},
        {"project": ["p"]},
        {**PLAIN, "workfow": "w"},
        {**PLAIN, 1: "w"},
        None,
        [],
        "p",
    ],
)
def test_a_plain_scope_is_read_as_by_its_fields(data):
    try:
        expected = outcome(BySegments, data)
    except Exception as error:
        with pytest.raises(type(error)):
            outcome(ScopeWrite, data)
    else:
        assert outcome(ScopeWrite, data) == expected
