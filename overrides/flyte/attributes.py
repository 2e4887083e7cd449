"""Calls for matchable attributes: update, get, delete, list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.admin.matchable_resource_pb2 import MatchingAttributes
from flyteidl.admin.project_attributes_pb2 import (
    ProjectAttributes,
    ProjectAttributesDeleteResponse,
    ProjectAttributesGetResponse,
    ProjectAttributesUpdateResponse,
)
from flyteidl.admin.project_domain_attributes_pb2 import (
    ProjectDomainAttributes,
    ProjectDomainAttributesDeleteResponse,
    ProjectDomainAttributesGetResponse,
    ProjectDomainAttributesUpdateResponse,
)
from flyteidl.admin.workflow_attributes_pb2 import (
    WorkflowAttributes,
    WorkflowAttributesDeleteResponse,
    WorkflowAttributesGetResponse,
    WorkflowAttributesUpdateResponse,
)
from google.protobuf.message import Message
from prometheus_client import Counter

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from controlplane.scopes import Level, Scope
from overrides.editing.commit import CommitOptions
from overrides.editing.writes import WriteOptions, revise_override
from overrides.effective.flyte_strategy import project_config
from overrides.flyte import messages
from overrides.flyte.errors import Code, FlyteError, invalid
from overrides.flyte.targets import LEVELS, Target, check_target, target_of, unrecognized
from overrides.loading.layers import FLYTEADMIN_LAYERS, load_layers
from overrides.loading.platform_defaults import platform_defaults
from overrides.models import Domain, Override, Project
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes
from overrides.resource_types import BUILT_IN, ResourceType

_GOT: dict[Level, type[Any]] = {
    Level.PROJECT: ProjectAttributesGetResponse,
    Level.PROJECT_DOMAIN: ProjectDomainAttributesGetResponse,
    Level.WORKFLOW: WorkflowAttributesGetResponse,
}
_UPDATED: dict[Level, type[Message]] = {
    Level.PROJECT: ProjectAttributesUpdateResponse,
    Level.PROJECT_DOMAIN: ProjectDomainAttributesUpdateResponse,
    Level.WORKFLOW: WorkflowAttributesUpdateResponse,
}
_DELETED: dict[Level, type[Message]] = {
    Level.PROJECT: ProjectAttributesDeleteResponse,
    Level.PROJECT_DOMAIN: ProjectDomainAttributesDeleteResponse,
    Level.WORKFLOW: WorkflowAttributesDeleteResponse,
}
_ATTRIBUTES: dict[Level, type[Any]] = {
    Level.PROJECT: ProjectAttributes,
    Level.PROJECT_DOMAIN: ProjectDomainAttributes,
    Level.WORKFLOW: WorkflowAttributes,
}
UNREADABLE_ROWS = Counter(
    "cp_flyte_unreadable_rows_total", "Stored rows that Flyte's messages cannot hold.", ["resource_type"]
)
log = structlog.get_logger(__name__)
_EXECUTION_CONFIG = BUILT_IN["workflow_execution_config"]
_PLUGIN_OVERRIDE = BUILT_IN["plugin_override"]


def update(request: Any, caller: Caller) -> Message:
    """Replace the whole message at the target's level; plugin overrides merge by task type."""
    if not request.HasField("attributes"):
        raise invalid("missing attributes")
    target = target_of(request.attributes)
    caller.require(Action.OVERRIDE_WRITE, target.nearest_scope)
    _check(target)
    if not request.attributes.HasField("matching_attributes"):
        raise invalid("missing matching_attributes")
    try:
        stated = messages.read_message(request.attributes.matching_attributes)
    except messages.NotOnTheWire as error:
        raise invalid(f"proto: {error}") from error
    if stated is None:
        raise unrecognized(target)
    resource_type, attributes = stated
    _revise(resource_type, target.scope, lambda before: _updated(resource_type, before, attributes), caller)
    return _UPDATED[target.level]()


def get(request: Any, caller: Caller) -> Message:
    """Return the most specific row as a whole, with the ids of that row."""
    target = target_of(request)
    caller.require(Action.OVERRIDE_READ, target.nearest_scope)
    _check(target, reads_project=target.level is Level.PROJECT)
    resource_type = messages.type_of(request.resource_type)
    if target.level is Level.PROJECT and resource_type is _EXECUTION_CONFIG:
        return _project_execution_config(target.scope)
    match = _most_specific(target, resource_type) if resource_type else None
    if resource_type is None or match is None:
        raise FlyteError(Code.NOT_FOUND, target.missing(messages.type_label(request.resource_type)))
    scope, attributes = match
    return _answer(target.level, scope, _message(resource_type, scope, attributes))


def delete(request: Any, caller: Caller) -> Message:
    """Delete exactly this row. A missing row is no error."""
    target = target_of(request)
    caller.require(Action.OVERRIDE_WRITE, target.nearest_scope)
    _check(target)
    if resource_type := messages.type_of(request.resource_type):
        _revise(resource_type, target.scope, lambda before: None, caller)
    return _DELETED[target.level]()


def list_all(request: Any, caller: Caller) -> Message:
    """Return every row of a type at the levels that Flyte supports, the most specific first."""
    resource_type = messages.type_of(request.resource_type)
    if resource_type is None:
        raise invalid("invalid value for resource_type")
    rows = Override.objects.filter(resource_type=resource_type.name)
    rows = rows.within(caller.scopes_for(Action.OVERRIDE_READ))
    answer = flyte.ListMatchableAttributesResponse()
    for level in reversed(LEVELS):
        for row in rows.at_level(level).order_by("project", "domain", "workflow").iterator():
            if (matching := _readable(resource_type, row)) is not None:
                answer.configurations.add(
                    project=row.project, domain=row.domain, workflow=row.workflow, attributes=matching
                )
    return answer


def _readable(resource_type: ResourceType, row: Override) -> MatchingAttributes | None:
    """Return the row as Flyte's message, or None: one unrepresentable row must not hide all others."""
    try:
        return messages.message_of(resource_type, row.attributes)
    except messages.NotOnTheWire as error:
        UNREADABLE_ROWS.labels(resource_type.name).inc()
        log.warning(
            "flyte.row_left_out",
            resource_type=resource_type.name,
            scope=str(row.scope),
            error=str(error)[:500],
        )
        return None


def _check(target: Target, *, reads_project: bool = False) -> None:
    state = Project.objects.filter(id=target.project).values_list("state", flat=True).first()
    domains = set(Domain.objects.filter(id=target.domain).values_list("id", flat=True))
    check_target(target, state, domains, reads_project=reads_project)


def _revise(
    resource_type: ResourceType,
    scope: Scope,
    revise: Callable[[Attributes | None], Attributes | None],
    caller: Caller,
) -> None:
    # Flyte's clients cannot confirm, and FlyteAdmin applies each row as a whole: inheritance is not checked.
    commit_options = CommitOptions(
        asks=False, checks=settings.FLYTE_STRICT_VALIDATION, checks_inherited=False
    )
    actor = caller.actor(current_request_id())
    revise_override(
        Address(resource_type.name, scope),
        revise,
        actor=actor,
        options=WriteOptions(commit_options=commit_options),
    )


def _updated(resource_type: ResourceType, before: Attributes | None, attributes: Attributes) -> Attributes:
    if resource_type is not _PLUGIN_OVERRIDE or before is None:
        return attributes
    overrides = attributes.get("overrides") or []
    task_types = {item.get("task_type", "") for item in overrides}
    remaining = [
        item for item in before.get("overrides") or [] if item.get("task_type", "") not in task_types
    ]
    return {**before, "overrides": [*remaining, *overrides]}


def _most_specific(target: Target, resource_type: ResourceType) -> tuple[Scope, Attributes] | None:
    rows = load_layers([target.scope], resource_type=resource_type.name).layers
    rungs = [scope for scope in rows if scope.level in LEVELS]
    if not rungs:
        return None
    scope = max(rungs, key=lambda rung: rung.level)
    return scope, rows[scope][resource_type.name].attributes


def _project_execution_config(scope: Scope) -> Message:
    """Return a project's config, which always exists: it is filled from the platform's defaults."""
    loaded = load_layers([scope], resource_type=_EXECUTION_CONFIG.name)
    layers = loaded.of(_EXECUTION_CONFIG, scope, platform_defaults())
    attributes = project_config(layers, FLYTEADMIN_LAYERS[_EXECUTION_CONFIG.name])
    return _answer(Level.PROJECT, scope, _message(_EXECUTION_CONFIG, scope, attributes))


def _message(resource_type: ResourceType, scope: Scope, attributes: Attributes) -> MatchingAttributes:
    try:
        return messages.message_of(resource_type, attributes)
    except messages.NotOnTheWire as error:
        UNREADABLE_ROWS.labels(resource_type.name).inc()
        message = f"the attributes stored at {scope} cannot be sent, set them again: {error}"
        raise FlyteError(Code.INTERNAL, message) from error


def _answer(level: Level, scope: Scope, matching: MatchingAttributes) -> Message:
    """Return the response message of the call's level, with the ids of the matching row."""
    ids = {name: value for name, value in scope.segments.items() if value}
    message: Message = _GOT[level](attributes=_ATTRIBUTES[level](**ids, matching_attributes=matching))
    return message
