"""The fast path of joins: plain joins are processed in batches."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.conf import settings

from controlplane.api.idempotency import is_valid_key
from controlplane.database.commit import OutcomeUnknown
from controlplane.formats.strict_json import parse_json
from controlplane.web.django_bridge import Application
from controlplane.web.exchange import FastAnswer
from controlplane.web.fast_path import TaskPath
from controlplane.web.fast_requests import RequestHead, RequestHeads
from controlplane.web.request_metrics import RequestMetrics
from controlplane.web.thread_batches import ThreadBatches
from registry.agents.policies import liveness_policy
from registry.api.joining.fast_requests import read_registration
from registry.api.joining.join_views import show_join_result
from registry.joining.join import JoinRequest, join_many
from registry.joining.repeated_joins import repeat_key
from registry.metrics import JOINS

JOIN_ROUTE = "/api/v1/agents:join"
# No response is empty.
_UNKNOWN = b""


class FastJoins(TaskPath):
    def __init__(self, django: Application) -> None:
        heads = RequestHeads("POST", has_body=True, takes_keys=True)
        # The route's name in Django's resolver.
        metrics = RequestMetrics(JOIN_ROUTE.removeprefix("/"), JOINS)
        super().__init__(django, heads, metrics, status=201)
        self._batches = ThreadBatches(_join, most=settings.JOINS_AT_ONCE, name="joins", unknown=_UNKNOWN)

    async def answer(self, head: RequestHead, body: bytes, request_id: str) -> FastAnswer | None:
        registration = read_registration(body)
        if registration is None or (head.key is not None and not is_valid_key(head.key)):
            return None
        repeat = (
            None
            if head.key is None
            else repeat_key(head.key, parse_json(body, max_depth=settings.MAX_JSON_DEPTH))
        )
        content = await self._batches.ask(JoinRequest(head.token_digest, registration, request_id, repeat))
        if content is None:
            return None
        if content == _UNKNOWN:
            # Joined again, an agent would find its own name in use.
            raise OutcomeUnknown
        self._metrics.count("accepted")
        return FastAnswer(201, content)

    async def close(self) -> None:
        self._metrics.write()
        await self._batches.close()


def _join(requests: Sequence[JoinRequest]) -> list[bytes | None]:
    """Return the response body of each, as Django would render it. Runs in a thread, in a transaction."""
    policy = liveness_policy()
    return [
        None if result is None else msgspec.json.encode(show_join_result(result, policy), enc_hook=str)
        for result in join_many(requests, policy)
    ]
