"""What plain reads of Flyte's HTTP clients ask. All other requests are left to the gateway. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from google.protobuf.message import Message

from controlplane.errors import InvalidScope
from controlplane.scopes import Scope
from overrides.api.effective.fast_path.snapshot import Key
from overrides.flyte import bindings, queries
from overrides.flyte.errors import FlyteError
from overrides.flyte.marshalers import Marshaler
from overrides.flyte.targets import target_of

_ATTRIBUTES = ("GetProjectAttributes", "GetProjectDomainAttributes", "GetWorkflowAttributes")
_PROJECTS = ("GetProject", "ListProjects")
_BINDINGS = bindings.bindings_of((*_ATTRIBUTES, *_PROJECTS, "GetDomains"))
_COLLECTIONS = frozenset(binding.segments[2] for binding in _BINDINGS)
_PREFIX = "/api/v1/"
# Segments that no router, proxy or percent-decoding reads in another way.
_PLAIN_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]+)+")
_MAX_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Question:
    """A call with its request. scope: where the caller must be allowed to read overrides; None: of projects.

    key: of the answer, without what depends on the caller. marshaler: of the answer.
    """

    rpc: str
    request: Message
    scope: Scope | None
    marshaler: Marshaler
    key: Key

    @property
    def is_of_caller(self) -> bool:
        """Whether the answer depends on which projects the caller may read."""
        return self.rpc in _PROJECTS


def is_read(path: str) -> bool:
    """Return whether a path is one of the collections that the fast path can answer."""
    return path.startswith(_PREFIX) and path[len(_PREFIX) :].partition("/")[0] in _COLLECTIONS


@lru_cache(maxsize=8192)
def question_of(path: str, query: bytes, marshaler: Marshaler) -> Question | None:
    """Return the question of a GET; None if it is invalid or unusual in any way."""
    if len(path) + len(query) > _MAX_BYTES or not query.isascii() or not _PLAIN_PATH.fullmatch(path):
        return None
    try:
        binding, variables = bindings.match(_BINDINGS, "GET", path)
        request = binding.request()
        bindings.bind_query(request, queries.parse_query(query.decode("ascii")), bound=variables)
        bindings.bind_path(request, variables)
        scope = target_of(request).nearest_scope if binding.rpc in _ATTRIBUTES else None
    except (FlyteError, InvalidScope):
        return None
    key = (binding.rpc, request.SerializeToString(deterministic=True), marshaler)
    return Question(binding.rpc, request, scope, marshaler, key)
