"""An effective answer as bytes: what `GET /api/v1/overrides/effective` says, without the request."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.api.bodies import JSONRenderer
from controlplane.scopes import Scope
from overrides.api.effective.schemas import show_effective
from overrides.effective.effective import effective_attributes


@dataclass(frozen=True, slots=True)
class EffectiveAnswer:
    """etag: with its quotes, as the header says it."""

    body: bytes
    etag: str


def effective_answer(scope: Scope, resource_type: str = "") -> EffectiveAnswer:
    """The very bytes and ETag of the view. Raises UnknownProject, UnknownDomain, UnknownResourceType."""
    effective = effective_attributes(scope, resource_type=resource_type)
    body: bytes = JSONRenderer().render(show_effective(effective))
    return EffectiveAnswer(body, f'"{effective.fingerprint}"')
