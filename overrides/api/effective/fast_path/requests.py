"""Query strings that are plain enough for the fast path. All others are left to Django."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from django.http import QueryDict

from controlplane.endpoints.events.schemas import MAX_WAIT_SECONDS
from controlplane.errors import InvalidScope
from controlplane.scopes import SEGMENTS, Scope
from overrides.api.effective.fast_path.snapshot import Key, rung_of

_PARAMETERS = {*SEGMENTS, "resource_type", "strategy", "wait"}
_STRATEGIES = ("native", "flyte")
_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_WAIT = re.compile(r"0|[1-9][0-9]?")
_MAX_QUERY_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Question:
    """wait: seconds of a long poll."""

    scope: Scope
    resource_type: str
    strategy: str
    key: Key
    wait: int = 0


@lru_cache(maxsize=8192)
def question_of(query: bytes) -> Question | None:
    """Return the question of a query string; None if it is invalid or unusual in any way."""
    parameters = _parameters_of(query)
    if parameters is None:
        return None
    resource_type = parameters.pop("resource_type", None)
    strategy = parameters.pop("strategy", "native")
    if strategy not in _STRATEGIES or not (resource_type is None or _TYPE_NAME.fullmatch(resource_type)):
        return None
    wait = _seconds(parameters.pop("wait", "0"))
    try:
        scope = Scope(**parameters)
    except InvalidScope:
        return None
    if wait is None:
        return None
    key = (*rung_of(scope), resource_type or "", strategy)
    return Question(scope, resource_type or "", strategy, key, wait)


def _seconds(text: str) -> int | None:
    """Return the seconds of a valid `wait`; None otherwise."""
    return int(text) if _WAIT.fullmatch(text) and int(text) <= MAX_WAIT_SECONDS else None


def _parameters_of(query: bytes) -> dict[str, str] | None:
    """Return the parameters, each known and given once; None if any of them is unusual."""
    if len(query) > _MAX_QUERY_BYTES or not query.isascii() or query.count(b"&") >= len(_PARAMETERS):
        return None
    values_by_name = dict(QueryDict(query).lists())
    if not _PARAMETERS.issuperset(values_by_name) or any(
        len(values) > 1 for values in values_by_name.values()
    ):
        return None
    parameters = {name: str(values[0]) for name, values in values_by_name.items()}
    if any("\ufffd" in value or not value.isprintable() for value in parameters.values()):
        return None
    return parameters
