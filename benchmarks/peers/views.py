"""Plain DRF views of the same answer: with our one statement, and with the ORM and one query for each type.

They ask no token. What they leave out makes them faster, not slower.
"""

from __future__ import annotations

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.scopes import SEGMENTS, Scope
from overrides.api.effective.schemas import show_effective
from overrides.effective.effective import effective_attributes
from overrides.models import Override
from overrides.resolution.merging import merge_patch
from overrides.resource_types import BUILT_IN


class _Plain(APIView):
    authentication_classes = ()
    permission_classes = ()

    def get(self, request: Request) -> Response:
        scope = Scope(**{name: request.query_params.get(name, "") for name in SEGMENTS})
        return Response(self.answer(scope))

    def answer(self, scope: Scope) -> Any:
        raise NotImplementedError


class OneStatement(_Plain):
    def answer(self, scope: Scope) -> Any:
        return show_effective(effective_attributes(scope))


class OneQueryForEachType(_Plain):
    """As it is usually written: a filter for each type, merged from the least specific to the most."""

    def answer(self, scope: Scope) -> Any:
        items = []
        for name in BUILT_IN:
            overrides = sorted(
                Override.objects.covering(scope).filter(resource_type=name), key=lambda row: row.scope.level
            )
            merged: dict[str, Any] = {}
            for override in overrides:
                merged = merge_patch(merged, override.attributes)
            if overrides:
                items.append(
                    {
                        "resource_type": name,
                        "attributes": merged,
                        "sources": [str(override.scope) for override in overrides],
                    }
                )
        return {"scope": scope.segments, "items": items}


urlpatterns = [
    path("api/v1/overrides/effective", OneStatement.as_view()),
    path("orm", OneQueryForEachType.as_view()),
]
