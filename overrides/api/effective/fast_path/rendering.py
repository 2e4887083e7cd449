"""The response of `GET /api/v1/overrides/effective` as bytes, rendered without a request."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.api.bodies import JSONRenderer
from controlplane.scopes import Scope
from overrides.api.effective.schemas import show_effective
from overrides.effective.effective import effective_attributes, flyte_attributes


@dataclass(frozen=True, slots=True)
class EffectiveAnswer:
    """etag: with quotes, as in the header."""

    body: bytes
    etag: str


def effective_answer(scope: Scope, resource_type: str = "", strategy: str = "native") -> EffectiveAnswer:
    """Return the view's bytes and ETag. Raises UnknownProject, UnknownDomain, UnknownResourceType."""
    read = flyte_attributes if strategy == "flyte" else effective_attributes
    effective = read(scope, resource_type=resource_type)
    body: bytes = JSONRenderer().render(show_effective(effective))
    return EffectiveAnswer(body, f'"{effective.fingerprint}"')
