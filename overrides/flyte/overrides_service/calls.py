"""Answer GetOverrides and GetAllOverrides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog
from google.protobuf.message import Message

from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.documents.documents import API_VERSION
from overrides.documents.export import as_config_map, export_documents
from overrides.documents.scope_document import document_version
from overrides.effective.effective import flyte_attributes
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.flyte import messages
from overrides.flyte.overrides_service.wire import message_class
from overrides.resolution.resolve import Layer

_RESPONSE: Any = message_class("GetOverridesResponse")
_ALL_RESPONSE: Any = message_class("GetAllOverridesResponse")
_ENTRY: Any = message_class("ResourceOverrides")
log = structlog.get_logger(__name__)


def get_overrides(request: Any, caller: Caller) -> Message:
    """Return what an execution at the scope gets, by FlyteAdmin's rules. Raises ControlplaneError."""
    scope = Scope(domain=request.domain, project=request.project, workflow=request.workflow)
    caller.require(Action.OVERRIDE_READ, scope)
    # Before the values: they are never older than the version.
    version = document_version(scope)
    response: Any = _RESPONSE()
    document = response.document
    document.domain, document.project, document.workflow = request.domain, request.project, request.workflow
    document.api_version = API_VERSION
    document.overrides.extend(_entries(flyte_attributes(scope)))
    document.status.version = version
    answer: Message = response
    return answer


def get_all_overrides(request: Any, caller: Caller) -> Message:
    """Return the ConfigMap that `GET /api/v1/overrides:export` returns. Raises PermissionDenied."""
    caller.require(Action.OVERRIDE_READ, Scope())
    response: Message = _ALL_RESPONSE(config_map=strict_yaml.dump(as_config_map(export_documents())))
    return response


def _entries(effective: EffectiveAttributes) -> Iterator[Message]:
    """Yield the types that Flyte's messages can hold. One bad row must not hide all others."""
    for effective_type in effective.types:
        try:
            yield _entry(effective.scope, effective_type)
        except messages.NotOnTheWire as error:
            log.warning(
                "flyte.row_left_out",
                resource_type=effective_type.resource_type.name,
                scope=str(effective.scope),
                error=str(error)[:500],
            )


def _entry(scope: Scope, effective_type: EffectiveType) -> Message:
    matching = messages.message_of(effective_type.resource_type, effective_type.resolved.attributes)
    nearest = effective_type.layers[-1]
    entry: Message = _ENTRY(attributes=matching)
    if nearest.is_default or nearest.scope != scope:
        _mark_inherited(entry, nearest)
    return entry


def _mark_inherited(entry: Any, nearest: Layer) -> None:
    entry.inherited = True
    if nearest.is_default:
        entry.source = "platform"
        return
    entry.domain, entry.project = nearest.scope.domain, nearest.scope.project
    entry.workflow = nearest.scope.workflow
    entry.source = nearest.scope.level.name.lower()
