"""Heads of plain reads by Flyte's HTTP clients, with what they ask."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from controlplane.web.fast_requests import RawHead, RequestHead, RequestHeads
from overrides.flyte.authorization import STANDARD
from overrides.flyte.fast_path.questions import Question, question_of
from overrides.flyte.marshalers import choose


@dataclass(slots=True)
class FlyteHead(RequestHead):
    """The head of a plain read."""

    question: Question | None = None


class FlyteHeads(RequestHeads):
    """Reader of heads. Requests that carry a token in a header of their own are left to the gateway."""

    def __init__(self) -> None:
        super().__init__("GET", has_body=False)
        names = {name.encode() for name in settings.FLYTE_AUTHORIZATION_HEADERS}
        self._unusual |= names - {STANDARD.encode()}

    def read(self, raw: RawHead) -> FlyteHead | None:
        head = super().read(raw)
        if head is None:
            return None
        headers = dict(raw.headers)
        content_type, accept = headers.get(b"content-type", b""), headers.get(b"accept", b"")
        _, outbound = choose(content_type.decode("latin-1"), accept.decode("latin-1"))
        question = question_of(raw.path, raw.query, outbound)
        if question is None:
            return None
        return FlyteHead(
            head.path,
            head.query,
            head.secret,
            head.token_digest,
            head.is_secure,
            head.request_id,
            question=question,
        )
