"""Scopes in the API: query parameters and schemas."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from controlplane.api.fields import Query, StrictSerializer, Text
from controlplane.scopes import LEVEL_NAMES, MAX_SEGMENT_LENGTH, SEGMENTS, Scope

_NAMES = frozenset(SEGMENTS)


def _segment(help_text: str) -> serializers.CharField:
    return serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        max_length=MAX_SEGMENT_LENGTH,
        help_text=help_text,
    )


class ScopeQuery(Query):
    """A scope in query parameters. Omit all four for the global scope."""

    project = _segment("Project. Empty: any project.")
    domain = _segment("Domain. Empty: any domain.")
    workflow = _segment("Workflow. Requires project and domain.")
    launch_plan = _segment("Launch plan. Requires project, domain and workflow.")


class ScopeWrite(StrictSerializer):
    """A scope. Omit all four fields for the global scope."""

    project = Text(required=False, default="", allow_blank=True, max_length=MAX_SEGMENT_LENGTH)
    domain = Text(required=False, default="", allow_blank=True, max_length=MAX_SEGMENT_LENGTH)
    workflow = Text(required=False, default="", allow_blank=True, max_length=MAX_SEGMENT_LENGTH)
    launch_plan = Text(required=False, default="", allow_blank=True, max_length=MAX_SEGMENT_LENGTH)

    def run_validation(self, data: Any = empty) -> Any:
        # The fields take 100 µs for each of the thousand scopes of a request, and find nothing in these.
        if type(self) is ScopeWrite and _is_plain(data):
            return dict.fromkeys(SEGMENTS, "") | data
        return super().run_validation(data)


def _is_plain(data: Any) -> bool:
    """Return whether the data are a scope that needs no look at single characters."""
    return (
        type(data) is dict
        and data.keys() <= _NAMES
        and all(
            type(value) is str and len(value) <= MAX_SEGMENT_LENGTH and value.isprintable()
            for value in data.values()
        )
    )


class ScopeRead(serializers.Serializer[Any]):
    """A scope. An empty field means any."""

    level = serializers.ChoiceField(choices=LEVEL_NAMES)
    project = serializers.CharField()
    domain = serializers.CharField()
    workflow = serializers.CharField()
    launch_plan = serializers.CharField()


def scope_from(query: dict[str, Any]) -> Scope:
    """Return the scope of parsed query parameters. Raises InvalidScope."""
    return Scope(**{name: query[name] for name in SEGMENTS})


def show_scope(scope: Scope) -> dict[str, str]:
    return {"level": scope.level.name.lower(), **scope.segments}
