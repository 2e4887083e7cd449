"""POST /api/v1/alertmanager: who may, what is refused, and what repeated and concurrent reports do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from controlplane.access.team_models import Team
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.notifications.models import AlertmanagerAlert
from tests.support.api_client import Api, token_for
from tests.support.two_teams import member_of

pytestmark = pytest.mark.django_db


def report(status: str = "firing", name: str = "DiskFull", **fields: Any) -> dict[str, Any]:
    alert = {
        "status": status,
        "labels": {"alertname": name},
        "annotations": {"summary": "The disk is full"},
        "startsAt": "2026-11-22T09:30:00Z",
        "fingerprint": f"fp-{name}",
        **fields,
    }
    return {"version": "4", "receiver": "controlplane", "status": status, "alerts": [alert]}


def events() -> list[tuple[str, str]]:
    rows = Event.objects.filter(object_type="alertmanager_alert").order_by("position")
    return list(rows.values_list("type", "object_id"))


@pytest.mark.parametrize(
    ("role", "status"),
    [("notifier", 202), ("operator", 202), ("admin", 202), ("viewer", 403), ("editor", 403), ("agent", 403)],
)
def test_a_token_needs_the_permission_and_notifier_has_no_other(role, status):
    assert Api(token_for(role)).post("alertmanager", report()).status_code == status
    assert len(events()) == (status == 202)


def test_notifier_may_do_nothing_else():
    notifier = Api(token_for(Role.NOTIFIER))
    for path in ("agents", "alerts", "events", "meta", "meta/support", "notification-rules"):
        assert notifier.get(path).status_code == 403, path
    assert notifier.post("backups", {}).status_code == 403
    assert Api().post("alertmanager", report()).status_code == 401


def test_repetitions_say_nothing_new_and_what_comes_back_does(api):
    for body in (report(), report(), report("resolved"), report("resolved"), report()):
        assert api.post("alertmanager", body).status_code == 202
    begins_anew = report(startsAt="2026-11-22T11:00:00Z")
    assert api.post("alertmanager", begins_anew).json() == {"accepted": 1, "news": 1}
    assert [name for name, _ in events()] == [
        "alertmanager.firing",
        "alertmanager.resolved",
        "alertmanager.firing",
        "alertmanager.firing",
    ]
    assert AlertmanagerAlert.objects.count() == 1


def test_a_dry_run_changes_nothing(api):
    assert api.post("alertmanager?dry_run=true", report()).json() == {"accepted": 1, "news": 1}
    assert (events(), AlertmanagerAlert.objects.count()) == ([], 0)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"version": "3"}, "/version"),
        ({"alerts": {}}, "/alerts"),
        ({"alerts": [5]}, "/alerts/0"),
        ({"alerts": [report()["alerts"][0] | {"status": "pending"}]}, "/alerts/0/status"),
        ({"alerts": [report()["alerts"][0] | {"labels": {"a": 5}}]}, "/alerts/0/labels/a"),
        ({"alerts": [report()["alerts"][0] | {"fingerprint": "f" * 65}]}, "/alerts/0/fingerprint"),
        ({"alerts": [report()["alerts"][0] | {"fingerprint": "f\u0000"}]}, "/alerts/0/fingerprint"),
        ({"alerts": [report()["alerts"][0]] * 1001}, "/alerts"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(api, change, pointer):
    answer = api.post("alertmanager", report() | change)
    assert answer.status_code == 400, answer.json()
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert events() == []


def test_no_alert_is_lost_because_of_its_texts(api):
    odd = report(
        annotations={"summary": "a\u0007b\u200d", "description": "x" * 5000}, labels={"alertname": ""}
    )
    assert api.post("alertmanager", odd).status_code == 202
    data = Event.objects.get(type="alertmanager.firing").data
    assert data["annotations"]["summary"] == "a b\u200d"
    assert len(data["annotations"]["description"]) == 1000


def test_an_alert_of_one_team_is_not_that_of_another():
    teams = [Team.objects.create(slug=slug) for slug in ("ads", "shop")]
    apis = [member_of(team, Role.NOTIFIER) for team in teams]
    for one in apis:
        assert one.post("alertmanager", report()).json()["news"] == 1
    assert apis[0].post("alertmanager", report("resolved")).json()["news"] == 1
    rows = AlertmanagerAlert.objects.order_by("team__slug").values_list("team__slug", "is_firing")
    assert list(rows) == [("ads", False), ("shop", True)]
    assert set(Event.objects.filter(type="alertmanager.resolved").values_list("team_id", flat=True)) == {
        teams[0].id
    }


@pytest.mark.django_db(transaction=True)
def test_two_alertmanagers_of_a_cluster_report_one_beginning():
    api = Api(token_for(Role.NOTIFIER))
    both = report()
    both["alerts"] += report(name="Noise")["alerts"]
    turned = both | {"alerts": both["alerts"][::-1]}

    def send(body: dict[str, Any]) -> int:
        try:
            return int(api.post("alertmanager", body).json()["news"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        news = list(threads.map(send, [both, turned, both, turned]))
    assert sum(news) == 2
    assert sorted(events()) == [("alertmanager.firing", "fp-DiskFull"), ("alertmanager.firing", "fp-Noise")]
