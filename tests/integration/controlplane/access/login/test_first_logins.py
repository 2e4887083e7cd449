"""First logins at the same time: each identity gets one person, and each person a name of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.access.login.oidc.authorization import FinishedLogin
from controlplane.access.login.oidc.identities import admit
from controlplane.access.login.oidc.models import Identity
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.models import Principal

PROVIDER = Provider("work", "https://login.example.com", "cp")
AT_ONCE = 6


def log_in(subject):
    claims = {"iss": PROVIDER.issuer, "sub": subject, "preferred_username": "ada"}
    try:
        return admit(FinishedLogin(PROVIDER, claims, "", "", None), request_id="").principal.name
    finally:
        connection.close()


def log_in_at_once(subjects):
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(log_in, subjects))


@pytest.mark.django_db(transaction=True)
def test_several_first_logins_of_one_identity_make_one_person():
    names = log_in_at_once(["s1"] * AT_ONCE)

    assert set(names) == {"ada"}
    assert (Identity.objects.count(), Principal.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_first_logins_of_several_identities_with_one_name_make_several_people():
    names = log_in_at_once([f"s{number}" for number in range(AT_ONCE)])

    assert len(set(names)) == AT_ONCE
    assert Identity.objects.count() == AT_ONCE
