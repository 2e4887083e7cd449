"""Which calls are answered from ready answers, and what they ask. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flyteidl.admin import project_pb2
from flyteidl.admin.project_attributes_pb2 import ProjectAttributesGetRequest
from flyteidl.admin.project_domain_attributes_pb2 import ProjectDomainAttributesGetRequest
from flyteidl.admin.workflow_attributes_pb2 import WorkflowAttributesGetRequest
from google.protobuf.message import DecodeError, Message

from controlplane.errors import InvalidScope
from controlplane.scopes import Scope
from overrides.api.effective.fast_path.snapshot import Key
from overrides.flyte.bindings import SERVICE
from overrides.flyte.errors import FlyteError
from overrides.flyte.messages import type_of
from overrides.flyte.storable import check_storable
from overrides.flyte.targets import target_of

# Anybody can fill the cache of questions.
_MAX_BYTES = 1024


@dataclass(frozen=True, slots=True)
class AttributesQuestion:
    """A read of attributes."""

    rpc: str
    request: Message
    scope: Scope
    key: Key


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """A read of projects or domains. of_caller: the answer depends on what the caller may read."""

    rpc: str
    request: Message
    content: bytes
    of_caller: bool


Question = AttributesQuestion | ListQuestion


@lru_cache(maxsize=4096)
def question_of(path: str, message: bytes) -> Question | None:
    """Return what a call asks; None if it is not a read, or unusual in any way."""
    reader = _READERS.get(path)
    if reader is None or len(message) > _MAX_BYTES:
        return None
    rpc = path.rpartition("/")[2]
    kind, read = reader
    try:
        request = kind.FromString(message)
        check_storable(request)
        return read(rpc, request, message)
    except (DecodeError, FlyteError, InvalidScope):
        return None


def _attributes(rpc: str, request: Any, message: bytes) -> Question | None:
    target = target_of(request)
    if request.org or type_of(request.resource_type) is None or target.scope.level is not target.level:
        return None
    key = (target.project, target.domain, target.workflow, "", f"{rpc} {request.resource_type}")
    return AttributesQuestion(rpc, request, target.scope, key)


def _projects(rpc: str, request: Any, message: bytes) -> Question | None:
    return None if request.org else ListQuestion(rpc, request, message, of_caller=True)


def _domains(rpc: str, request: Any, message: bytes) -> Question | None:
    return ListQuestion(rpc, request, message, of_caller=False)


_Read = Callable[[str, Any, bytes], Question | None]
_READERS: dict[str, tuple[type[Any], _Read]] = {
    f"/{SERVICE.full_name}/{rpc}": (kind, read)
    for rpc, kind, read in (
        ("GetProjectAttributes", ProjectAttributesGetRequest, _attributes),
        ("GetProjectDomainAttributes", ProjectDomainAttributesGetRequest, _attributes),
        ("GetWorkflowAttributes", WorkflowAttributesGetRequest, _attributes),
        ("ListProjects", project_pb2.ProjectListRequest, _projects),
        ("GetDomains", project_pb2.GetDomainRequest, _domains),
    )
}
