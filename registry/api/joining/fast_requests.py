"""Read registrations that are plain enough for the fast path. Unusual ones are left to Django."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.conf import settings
from msgspec import UNSET, Meta, Struct, UnsetType

from controlplane.errors import MalformedBody
from controlplane.formats.strict_json import parse_json
from overrides.resource_types.schemas import LABEL_VALUE, QUALIFIED_NAME
from registry.agents.states import Cost
from registry.joining.registration import LONGEST_TOPIC_NAME, TOPIC_NAME, Registration
from registry.task_types.names import NAME, TaskType

# Stricter than Django's validation, never laxer: a test compares the two.
_PLAIN = r"^[!-~][ -~]*\Z"
_Name = Annotated[str, Meta(pattern=_PLAIN, max_length=255)]
_Word = Annotated[str, Meta(pattern=_PLAIN, max_length=63)]
_Total = Annotated[str, Meta(pattern=_PLAIN, max_length=32)]
_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_LabelName = Annotated[str, Meta(pattern=rf"(?:{QUALIFIED_NAME})\Z")]
_LabelValue = Annotated[str, Meta(pattern=rf"(?:{LABEL_VALUE})\Z", max_length=63)]


class _Resources(Struct, forbid_unknown_fields=True):
    total_cpu: _Count | UnsetType = UNSET
    total_memory: _Total | UnsetType = UNSET
    total_storage: _Total | UnsetType = UNSET
    total_node: _Count | UnsetType = UNSET


class _TaskType(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern=rf"^(?:{NAME.pattern})\Z")]
    version: _Word = ""


class _PlainRegistration(Struct, forbid_unknown_fields=True):
    name: _Name
    environment: _Name
    service_types: Annotated[list[_Word], Meta(max_length=100)]
    cost: Cost
    topic_name: Annotated[str, Meta(pattern=rf"^(?:{TOPIC_NAME.pattern})\Z", max_length=LONGEST_TOPIC_NAME)]
    resources_available: _Resources | None = None
    labels: Annotated[dict[_LabelName, _LabelValue], Meta(max_length=64)] = {}
    capacity: _Count | None = None
    task_types: Annotated[list[_TaskType], Meta(max_length=1000)] = []
    instance_uuid: UUID | None = None


def read_registration(body: bytes) -> Registration | None:
    """Return the registration in the body, or None if Django must validate it."""
    try:
        fields = msgspec.convert(parse_json(body, max_depth=settings.MAX_JSON_DEPTH), _PlainRegistration)
    except (MalformedBody, msgspec.ValidationError):
        return None
    resources: dict[str, Any] | None = msgspec.to_builtins(fields.resources_available)
    return Registration(
        name=fields.name,
        environment=fields.environment,
        service_types=tuple(dict.fromkeys(fields.service_types)),
        cost=fields.cost,
        topic_name=fields.topic_name,
        resources_available=resources,
        labels=fields.labels,
        capacity=fields.capacity,
        task_types=tuple(TaskType(task_type.name, task_type.version) for task_type in fields.task_types),
        instance_uuid=fields.instance_uuid,
    )
