"""API schemas of dead letters."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from rest_framework import serializers

from controlplane.access.team_models import Team
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.messaging.dead_letters import LetterState
from controlplane.messaging.models import DeadLetter

STATES = [(state.value, state.value) for state in LetterState]
ENCODINGS = [("text", "text"), ("base64", "base64")]
_SHOWN = (
    *("stream", "consumer", "sequence", "subject", "reason", "deliveries", "resource_id"),
    *("at", "state", "settled_at"),
)


class DeadLetterListQuery(PageQuery):
    state = serializers.ChoiceField(STATES, required=False, help_text="All states if omitted.")
    q = SearchField("subject", "reason", "consumer", "resource_id")
    sort = SortField(SortKeys.of("state", "consumer", at="id"), default="-at")


class DeadLetterRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    stream = serializers.CharField(help_text="Stream of NATS that had the message.")
    consumer = serializers.CharField(help_text="Consumer that could not handle it.")
    sequence = serializers.IntegerField(help_text="Number of the message in its stream.")
    subject = serializers.CharField()
    reason = serializers.CharField()
    deliveries = serializers.IntegerField(help_text="How often it was delivered.")
    resource_id = serializers.CharField(
        allow_blank=True, help_text="Resource that it names. Empty if it names none."
    )
    team = serializers.CharField(
        allow_null=True, help_text="Team that owns the resource. Null for the platform."
    )
    at = serializers.DateTimeField(help_text="When it was stored here.")
    state = serializers.ChoiceField(STATES)
    settled_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was replayed or discarded. Null while it is open."
    )


class DeadLetterDetail(DeadLetterRead):
    headers = serializers.DictField(child=serializers.CharField())
    payload = serializers.CharField(allow_blank=True, help_text="In the encoding of `payload_encoding`.")
    payload_encoding = serializers.ChoiceField(ENCODINGS, help_text="`base64` if it is no UTF-8 text.")


class DeadLetterPage(serializers.Serializer[Any]):
    items = DeadLetterRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def slugs_of(letters: Iterable[DeadLetter]) -> dict[UUID, str]:
    """Return the slugs of the teams that own the letters' resources."""
    ids = {letter.team_id for letter in letters if letter.team_id}
    return dict(Team.objects.filter(id__in=ids).values_list("id", "slug"))


def show_letter(letter: DeadLetter, slugs: Mapping[UUID, str]) -> dict[str, Any]:
    team = slugs.get(letter.team_id) if letter.team_id else None
    return {"id": str(letter.id), "team": team, **{name: getattr(letter, name) for name in _SHOWN}}


def show_detail(letter: DeadLetter) -> dict[str, Any]:
    payload = bytes(letter.payload)
    try:
        text, encoding = payload.decode(), "text"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(payload).decode(), "base64"
    letter_fields = show_letter(letter, slugs_of([letter]))
    return {**letter_fields, "headers": letter.headers, "payload": text, "payload_encoding": encoding}
