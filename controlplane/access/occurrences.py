"""Records of what happened without changing an object, such as logins and refused requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from controlplane.access import audit
from controlplane.events.audiences import kind_of
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor

_NAME_LENGTH = 63


@transaction.atomic
def record_occurrence(
    event_type: EventType, object_id: str, *, actor: Actor, data: Mapping[str, Any]
) -> None:
    """Write an audit row and an event. object_id: such as the principal or client that it is about."""
    audit.record(
        event_type,
        kind_of(event_type.name),
        object_id,
        actor=actor,
        before=None,
        after=None,
        data=data,
    )


def cut_name(name: str) -> str:
    """Return a name that a client supplied, without control characters and cut to 63 characters."""
    printable = "".join(character if character.isprintable() else "�" for character in name)
    return printable[:_NAME_LENGTH]
