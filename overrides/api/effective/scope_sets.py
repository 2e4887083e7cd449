"""Requests that name a set of scopes."""

from __future__ import annotations

from rest_framework import serializers

from controlplane import errors
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.scopes import ScopeWrite, scope_from
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

MAX_SCOPES = 1000
PROBLEMS = (
    errors.UnknownProject,
    errors.UnknownDomain,
    errors.UnknownResourceType,
    errors.InvalidScope,
)


class ScopeSetWrite(StrictSerializer):
    scopes = serializers.ListField(child=ScopeWrite(), min_length=1, max_length=MAX_SCOPES)
    resource_type = Text(
        required=False, default="", allow_blank=True, max_length=63, help_text="Only this type."
    )


def readable_scopes(segments: list[dict[str, str]], caller: Caller) -> list[Scope]:
    """Return the scopes in the order of the request, each once. Raises InvalidScope, PermissionDenied."""
    scopes = list(dict.fromkeys(scope_from(each) for each in segments))
    for scope in scopes:
        caller.require(Action.OVERRIDE_READ, scope)
    return scopes
