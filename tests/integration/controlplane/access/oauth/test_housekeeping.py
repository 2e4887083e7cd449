"""Regular work: expired rows go, and people hear of secrets before they expire."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from controlplane.access import tasks
from controlplane.access.models import Token
from controlplane.access.oauth.housekeeping import delete_expired, due_warning, warn_of_expiring_secrets
from controlplane.access.oauth.models import AccessGrant, ClientSecret, DeviceCode, RefreshToken, TokenFamily
from controlplane.events.models import Event
from tests.support.oauth_flows import Login, person_with_browser, post, service_client

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.mark.parametrize(
    ("days_left", "warned", "due"),
    [
        (31, None, None),
        (30, None, 30),
        (29, 30, None),
        (7, 30, 7),
        (6, 7, None),
        (1, 7, 1),
        (0.5, 1, None),
        (3, None, 7),
    ],
)
def test_a_warning_is_due_once_for_each_limit(days_left, warned, due):
    assert due_warning(NOW + timedelta(days=days_left), NOW, warned) == due


def test_a_secret_that_expires_soon_is_an_event_once():
    client, _ = service_client("viewer")
    ClientSecret.objects.update(expires_at=timezone.now() + timedelta(days=6))

    counts = [warn_of_expiring_secrets(timezone.now()) for _ in range(2)]

    assert counts == [1, 0]
    event = Event.objects.get(type="client_secret.expiring")
    assert event.data == {
        "client": client.client_id,
        "secret_id": str(ClientSecret.objects.get().id),
        "days": 7,
    }


def test_revoked_and_expired_secrets_are_not_mentioned():
    service_client("viewer")
    service_client("viewer")
    first, second = ClientSecret.objects.all()
    soon = timezone.now() + timedelta(days=1)
    ClientSecret.objects.filter(id=first.id).update(expires_at=soon, revoked_at=timezone.now())
    ClientSecret.objects.filter(id=second.id).update(expires_at=timezone.now() - timedelta(days=1))

    assert warn_of_expiring_secrets(timezone.now()) == 0


def test_expired_logins_are_deleted_and_others_kept():
    login = Login(person_with_browser("viewer")[1])
    login.tokens()
    post("/oauth2/device", {"client_id": "flytectl"})

    delete_expired(timezone.now() + timedelta(hours=2))
    kept = (AccessGrant.objects.count(), DeviceCode.objects.count(), TokenFamily.objects.count())
    delete_expired(timezone.now() + timedelta(days=22))
    delete_expired(timezone.now() + timedelta(days=22))

    assert kept == (1, 1, 1)
    for model in (AccessGrant, DeviceCode, TokenFamily, RefreshToken, Token):
        assert not model.objects.exists(), model


def test_the_task_does_all_of_it():
    tasks.tidy_oauth()
