"""Sinks and deliveries by HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from standardwebhooks.webhooks import Webhook

from controlplane.access.models import AuditRecord
from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.models import Delivery, DeliveryAttempt, Lane, Sink
from controlplane.events.models import Event
from tests.support.api_client import Api, make_project
from tests.support.webhook_receiver import Receiver, Reply, running_receiver

pytestmark = pytest.mark.django_db
URL = "https://203.0.113.7/hook"
OWN_NAME = "//localhost:8000/controlplane"


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24", "127.0.0.0/8"]


@pytest.fixture
def receiver(settings: Any) -> Any:
    settings.WEBHOOK_ALLOW_HTTP = True
    with running_receiver() as receiver:
        yield receiver


def create(api: Api, name: str = "incidents", **body: Any) -> Any:
    response = api.post("sinks", {"name": name, "config": {"url": URL}, **body})
    assert response.status_code == 201, response.json()
    return response


def waiting_delivery(api: Api) -> Delivery:
    create(api, filter={"types": ["project.created"]})
    make_project("shop")
    while dispatch_batch():
        pass
    return Delivery.objects.get()


def test_a_sink_is_created_read_replaced_and_deleted(api):
    created = create(api, filter={"types": ["agent.*"]})
    sink = created.json()
    assert sink.pop("secret").startswith("whsec_")
    path = f"sinks/{sink['id']}"
    assert created["Location"] == f"/api/v1/{path}"
    assert api.get(path).json() == sink == api.get("sinks").json()["items"][0]
    assert sink["state"] == "active"

    body = {"name": "renamed", "config": {"url": URL}, "per_second": 5, "flavour": "flyte-v2"}
    changed = api.put(path, body, If_Match=created["ETag"])
    assert (changed.status_code, changed.json()["filter"], changed.json()["per_second"]) == (200, {}, 5)
    assert (sink["flavour"], changed.json()["flavour"]) == ("native", "flyte-v2")
    audited = AuditRecord.objects.get(action="sink.changed")
    assert (audited.before["flavour"], audited.after["flavour"]) == ("native", "flyte-v2")
    assert api.put(path, body, If_Match=created["ETag"]).status_code == 412
    assert api.delete(path, If_Match=changed["ETag"]).status_code == 204
    assert api.get(path).json()["code"] == "unknown_sink"
    types = Event.objects.filter(object_type="sink").order_by("position").values_list("type", flat=True)
    assert list(types) == ["sink.created", "sink.changed", "sink.deleted"]
    assert "whsec" not in str(list(AuditRecord.objects.values()))


@pytest.mark.parametrize(
    ("body", "pointer", "part"),
    [
        ({"config": {"url": "http://203.0.113.7/"}}, "/config/url", "must begin with https://"),
        ({"config": {"url": "https://10.0.0.1/"}}, "/config/url", "private address"),
        ({"config": {"url": "https://user:pw@203.0.113.7/"}}, "/config/url", "user name"),
        ({"filter": {"expression": "type ="}}, "/filter/expression", "At character 7"),
        ({"filter": {"scopes": [{"project": "shop", "workflow": "w"}]}}, "/filter/scopes/0/domain", "domain"),
        ({"filter": {"typos": []}}, "/filter/typos", ""),
        ({"ordering": "random"}, "/ordering", ""),
        ({"flavour": "flyte-v3"}, "/flavour", ""),
        ({"max_in_flight": 0}, "/max_in_flight", ""),
        ({"secret": "whsec_short"}, "/secret", "24 to 64 bytes"),
        ({"name": ""}, "/name", ""),
    ],
)
def test_bad_sinks_are_refused_and_nothing_is_stored(api, body, pointer, part):
    response = api.post("sinks", {"name": "x", "config": {"url": URL}, **body})
    assert response.status_code == 422 or response.status_code == 400, response.json()
    (error,) = response.json()["errors"]
    assert error["pointer"] == pointer
    assert part in str(response.json())
    assert not Sink.objects.exists()


def test_a_name_is_taken_once(api):
    create(api)
    again = api.post("sinks", {"name": "incidents", "config": {"url": URL}})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


def test_a_dry_run_stores_nothing(api):
    response = api.post("sinks?dry_run=true", {"name": "x", "config": {"url": URL}})
    # A secret that is not stored would verify nothing.
    assert (response.status_code, response.json()["secret"]) == (201, "")
    assert not Sink.objects.exists()
    sink = create(api).json()
    assert api.post(f"sinks/{sink['id']}:rotate-secret?dry_run=true", {}).json() == {"secret": ""}


def test_pause_and_resume(api):
    sink = create(api).json()
    paused = api.post(f"sinks/{sink['id']}:pause").json()
    assert (paused["state"], paused["reason"]) == ("paused", "person")
    assert api.post(f"sinks/{sink['id']}:resume").json()["state"] == "active"


def test_a_test_event_is_sent_now_and_the_answer_is_shown(api, receiver: Receiver):
    created = create(api, config={"url": receiver.url}).json()
    receiver.reply = lambda request: Reply(503, body=b"do not show this")
    answer = api.post(f"sinks/{created['id']}:test").json()
    assert (answer["result"], answer["status"]) == ("server_error", 503)
    assert "do not show this" not in str(answer)
    (request,) = receiver.received
    event = Webhook(created["secret"]).verify(request.body, request.headers)
    assert event["type"] == "dev.controlplane.sink.test.v1"
    assert not DeliveryAttempt.objects.exists()


def test_a_rotation_signs_with_both_secrets_until_the_old_one_is_revoked(api, receiver: Receiver):
    created = create(api, config={"url": receiver.url}).json()
    path = f"sinks/{created['id']}"
    new = api.post(f"{path}:rotate-secret", {}).json()["secret"]
    api.post(f"{path}:test")
    for secret in (created["secret"], new):
        Webhook(secret).verify(receiver.received[0].body, receiver.received[0].headers)
    assert api.post(f"{path}:revoke-old").status_code == 204
    api.post(f"{path}:test")
    assert receiver.received[1].headers["webhook-signature"].count("v1,") == 1
    Webhook(new).verify(receiver.received[1].body, receiver.received[1].headers)


def test_a_dead_delivery_is_shown_retried_and_discarded(api):
    delivery = waiting_delivery(api)
    Delivery.objects.update(state="dead", attempt=10, last_status=500)
    DeliveryAttempt.objects.create(delivery=delivery, number=1, result="server_error", response="no memory")
    Lane.objects.all().delete()
    listed = api.get(f"sinks/{delivery.sink_id}/deliveries?state=dead").json()["items"]
    assert [one["id"] for one in listed] == [str(delivery.id)]
    shown = api.get(f"deliveries/{delivery.id}").json()
    assert shown["attempts"][0]["response"] == "no memory"

    retried = api.post(f"deliveries/{delivery.id}:retry").json()
    assert (retried["state"], retried["attempt"]) == ("waiting", 0)
    assert Lane.objects.filter(key=delivery.key).exists()
    assert api.post(f"deliveries/{delivery.id}:discard").json()["state"] == "discarded"
    again = api.post(f"deliveries/{delivery.id}:discard")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_a_delivered_event_is_not_retried(api):
    delivery = waiting_delivery(api)
    Delivery.objects.update(state="delivered")
    refused = api.post(f"deliveries/{delivery.id}:retry")
    assert refused.status_code == 409
    assert "replay the sink" in refused.json()["detail"]


def test_a_replay_is_accepted_with_its_range(api):
    delivery = waiting_delivery(api)
    answer = api.post(f"sinks/{delivery.sink_id}:replay", {"after_seq": 0})
    assert answer.status_code == 202
    assert answer.json()["after_seq"] == 0
    assert answer.json()["until_seq"] >= delivery.seq


def test_a_replay_begins_at_a_number_or_a_time(api):
    delivery = waiting_delivery(api)
    path = f"sinks/{delivery.sink_id}:replay"
    assert api.post(path, {"since": "1h"}).status_code == 202
    for body in ({}, {"since": "1h", "after_seq": 0}):
        refused = api.post(path, body)
        assert refused.status_code == 400
        assert "either `after_seq` or `since`" in refused.text


def test_a_preview_shows_what_would_pass(api):
    make_project("shop")
    make_project("garden")
    body = {"filter": {"types": ["project.*"], "expression": "data.project = 'shop'"}}
    shown = api.post("sinks:preview", body).json()
    assert shown["matching"] == 1
    assert [event["subject"] for event in shown["events"]] == ["project/shop"]


def test_schemas_of_event_types_are_served_for_each_version(api):
    schema = api.get("event-types/project.created/schema?v=1").json()
    assert schema["properties"]["project"] == {"type": "string"}
    assert schema["properties"]["before"] == {"type": ["object", "null"]}
    assert api.get("event-types/project.created/schema?v=2").status_code == 404
    assert api.get("event-types/project.vanished/schema").json()["code"] == "unknown_event_type"


def test_what_a_caller_may_not_read_does_not_exist(api):
    from tests.support.api_client import token_for

    sink = create(api).json()
    viewer = Api(token_for("viewer"))
    assert viewer.get("sinks").status_code == 403
    assert viewer.get(f"sinks/{sink['id']}").status_code == 403
    with transaction.atomic():
        assert Api(token_for("operator")).get(f"sinks/{sink['id']}").status_code == 200


@pytest.mark.parametrize("passed", [OWN_NAME, f"//other.example/controlplane, {OWN_NAME}", "//a,//b,//c,//d"])
def test_a_change_that_a_webhook_of_ours_has_caused_is_refused(api, passed):
    refused = api.post("teams", {"slug": "shop"}, X_Controlplane_Loop=passed)
    assert (refused.status_code, refused.json()["code"]) == (409, "delivery_loop")
    assert "X-Controlplane-Loop" in refused.json()["detail"]
    assert not Event.objects.exists()
    assert api.get("teams", X_Controlplane_Loop=passed).status_code == 200


def test_a_change_after_another_control_plane_is_made(api):
    name = "//other.example/controlplane"
    response = api.post("teams", {"slug": "shop"}, X_Controlplane_Loop=name)
    assert response.status_code == 201, response.json()


def test_webhooks_name_where_they_come_from(api, receiver):
    sink = create(api, config={"url": receiver.url}).json()
    api.post(f"sinks/{sink['id']}:test")
    (request,) = receiver.received
    assert request.headers["x-controlplane-loop"] == OWN_NAME


def test_a_repeated_rotation_has_one_effect_and_shows_no_secret(api):
    path = f"sinks/{create(api).json()['id']}:rotate-secret"

    first, again = (api.post(path, {}, Idempotency_Key="lost-answer") for _ in range(2))

    assert first.json()["secret"].startswith("whsec_")
    assert (again.status_code, again.json(), again["Idempotent-Replayed"]) == (200, {"secret": ""}, "true")
