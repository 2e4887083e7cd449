"""Events of the log as CloudEvents 1.0.2, as webhooks get them: with `before`, `after` and `cause`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample

from controlplane.delivery.changes import read_changes, with_change
from controlplane.delivery.cloudevents import BATCH, structured
from controlplane.delivery.dispatcher import with_teams
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.origins import origin
from controlplane.events.models import Event
from controlplane.events.stream_protocol import as_text
from controlplane.identity.callers import Caller

CLOUDEVENTS_EXAMPLE = OpenApiExample(
    "One CloudEvent",
    value={
        "specversion": "1.0",
        "id": "019a9f5e-7c00-7000-8000-000000000021",
        "source": "//cp.example.com/controlplane",
        "type": "dev.controlplane.project.created.v1",
        "subject": "project/flytesnacks",
        "time": "2026-11-21T09:30:00.000000Z",
        "datacontenttype": "application/json",
        "dataschema": "https://cp.example.com/api/v1/event-types/project.created/schema?v=1",
        "cpseq": "12",
        "cpactor": "admin",
        "cprequestid": "019a9f5e-7c00-7000-8000-000000000099",
        "partitionkey": "project/flytesnacks",
        "sequence": "00000000000000000012",
        "data": {"project": "flytesnacks"},
    },
    response_only=True,
    media_type=BATCH,
)


def batch_response(rows: Sequence[Event], caller: Caller) -> HttpResponse:
    """Return numbered events in batched mode: a JSON array (HTTP binding, 3.3)."""
    documents = [document for _, document in _documents(rows, caller)]
    return HttpResponse(b"[" + b",".join(documents) + b"]", content_type=BATCH)


def stream_text(rows: Sequence[Event], caller: Caller) -> bytes:
    """Return numbered events as server-sent events whose data are CloudEvents in structured mode."""
    return b"".join(as_text(event.seq, event.type, document) for event, document in _documents(rows, caller))


def _documents(rows: Sequence[Event], caller: Caller) -> Iterable[tuple[LoggedEvent, bytes]]:
    here, events = origin(), with_teams(rows)
    changes = read_changes(caller, events)
    return ((event, structured(with_change(event, changes.get(event.id), here), here)) for event in events)
