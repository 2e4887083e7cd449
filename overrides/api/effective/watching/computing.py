"""Answers of many topics at once, by the same code as in the views. Runs in threads of the pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import structlog
from django.db import Error, close_old_connections

from controlplane.api.bodies import JSONRenderer
from controlplane.errors import ControlplaneError
from controlplane.scopes import Scope
from overrides.api.effective.schemas import show_effective
from overrides.api.effective.value_items import value_item
from overrides.api.effective.watching.topics import FLYTE, VALUES, Answer, TopicKey
from overrides.effective.effective import effective_many, values_many
from overrides.effective.flyte_strategy import as_flyte
from overrides.loading.layers import FLYTEADMIN_LAYERS

log = structlog.get_logger(__name__)
# Small enough that other requests of the process are not kept waiting.
_AT_ONCE = 250
_REFUSED = Answer(is_refused=True)


def portions(etags: Mapping[TopicKey, bytes]) -> list[list[TopicKey]]:
    """Return the topics in portions, each of one form and type."""
    result = []
    for _, group in groupby(sorted(etags, key=_kind), _kind):
        keys = list(group)
        result += [keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE)]
    return result


def _kind(key: TopicKey) -> tuple[str, str]:
    return (key.form, key.resource_type)


def compute(keys: Sequence[TopicKey], etags: Mapping[TopicKey, bytes]) -> dict[TopicKey, Answer]:
    """Compute a portion. Raises if Postgres fails."""
    structlog.contextvars.clear_contextvars()
    close_old_connections()
    try:
        return dict(_answers(keys, etags))
    finally:
        close_old_connections()


def _answers(keys: Sequence[TopicKey], etags: Mapping[TopicKey, bytes]) -> Iterator[tuple[TopicKey, Answer]]:
    """Yield each answer. If one topic cannot be computed, the others are found by halves."""
    try:
        answers = _compute_answers(keys, etags)
    except Error:
        # Postgres is away: the same for all topics, and later it answers.
        raise
    except Exception as error:
        if len(keys) == 1:
            if not isinstance(error, ControlplaneError):
                log.error("effective.watch_topic_failed", topic=str(keys[0]), exc_info=error)
            yield keys[0], _REFUSED
            return
        middle = len(keys) // 2
        yield from _answers(keys[:middle], etags)
        yield from _answers(keys[middle:], etags)
    else:
        yield from zip(keys, answers, strict=True)


def _compute_answers(keys: Sequence[TopicKey], etags: Mapping[TopicKey, bytes]) -> list[Answer]:
    scopes, resource_type, form = [key.scope for key in keys], keys[0].resource_type, keys[0].form
    if form == VALUES:
        return _values(scopes, resource_type, [etags[key] for key in keys])
    return _effective(scopes, resource_type, form, [etags[key] for key in keys])


def _values(scopes: Sequence[Scope], resource_type: str, etags: Sequence[bytes]) -> list[Answer]:
    items = [value_item(values) for values in values_many(scopes, resource_type=resource_type)]
    return [
        Answer(item.etag.encode(), b"" if item.etag.encode() == etag else _json(item.content))
        for item, etag in zip(items, etags, strict=True)
    ]


def _effective(
    scopes: Sequence[Scope], resource_type: str, form: str, etags: Sequence[bytes]
) -> list[Answer]:
    resolved = effective_many(scopes, resource_type=resource_type)
    if form == FLYTE:
        resolved = [as_flyte(each, FLYTEADMIN_LAYERS, resource_type) for each in resolved]
    answers = []
    for effective, previous in zip(resolved, etags, strict=True):
        etag = f'"{effective.fingerprint}"'.encode()
        answers.append(Answer(etag, b"" if etag == previous else _json(show_effective(effective))))
    return answers


def _json(content: object) -> bytes:
    body: bytes = JSONRenderer().render(content)
    return body
