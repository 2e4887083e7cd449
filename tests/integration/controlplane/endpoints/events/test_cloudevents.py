"""The event log as CloudEvents: lists, long polls and streams of the running server."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from controlplane.access.authentication import caller_for
from controlplane.delivery.changes import read_changes, with_change
from controlplane.delivery.cloudevents import Origin, structured
from controlplane.delivery.dispatcher import read_events
from controlplane.events import log
from tests.integration.controlplane.endpoints.events.test_streams import Stream, ask, later
from tests.support.api_client import make_principal, make_project, token_for

FORMAT = "format=cloudevents"


def as_webhooks_send(live: Any, *names: str) -> list[Any]:
    """The last events on these projects, with the attributes that a webhook gets."""
    last = log.last_number()
    events = [event for event in read_events(last - 20 if last > 20 else 0, 50) if event.object_id in names]
    here, changes = Origin(live.url), read_changes(caller_for(make_principal("admin")), events)
    return [json.loads(structured(with_change(event, changes[event.id], here), here)) for event in events]


def test_a_list_and_a_long_poll_are_batches_of_what_webhooks_get(live):
    token = token_for("admin")
    make_project("a")
    make_project("b")

    answer = ask(live, token, f"?{FORMAT}&limit=2")
    assert answer.headers["Content-Type"] == "application/cloudevents-batch+json"
    newest = json.loads(answer.read())
    assert newest == as_webhooks_send(live, "a", "b")[::-1]
    after = int(newest[0]["cpseq"])
    thread = later(0.2, "c")
    assert json.loads(ask(live, token, f"?{FORMAT}&after={after}&wait=20").read()) == as_webhooks_send(
        live, "c"
    )
    thread.join()


def test_a_stream_has_cloudevents_of_the_past_and_of_now(live):
    token = token_for("admin")
    make_project("before")
    stream = Stream(live, token, f"?{FORMAT}&after={log.last_number() - 1}&type=project.created")
    (seq, name, first) = next(iter(stream))
    thread = later(0.0, "a", "b")
    news = (data for _, kind, data in stream if kind != "bookmark")
    following = list(islice(news, 2))
    thread.join()
    # Now the events come by the feed, which has them in another form.
    for number in range(3):
        make_project(f"later-{number}")
        following += islice(news, 1)
    stream.close()

    assert (name, str(seq)) == ("project.created", first["cpseq"])
    names = ("before", "a", "b", *(f"later-{number}" for number in range(3)))
    assert [first, *following] == as_webhooks_send(live, *names)
