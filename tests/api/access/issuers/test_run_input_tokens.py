"""A pod exchanges the token of its service account, and reads the input of its project's runs with it."""

from __future__ import annotations

import pytest

from controlplane.access import principals
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.api.access.issuers.test_exchange_endpoint import OURS, exchange
from tests.api.registry.test_stored_jobs import AT, SECRET, URL, prepare
from tests.support.api_client import ACTOR, Api, make_principal, make_project, token_for

ACCOUNT = "system:serviceaccount:shop:jobs"


@pytest.fixture
def pod(issuer, db, settings) -> Api:
    """A client with the token of a pod, whose service account may boot the jobs of one project."""
    settings.AUTH_SERVER = frozenset({"self"})
    settings.PUBLIC_URL = OURS
    make_project("shop")
    prepare(Api(token_for(Role.ADMIN)))
    make_principal(Role.EXECUTOR, name="shop-pods", scope=Scope(project="shop"))
    rule = {"match": {"sub": ACCOUNT}, "principal": "shop-pods", "ttl": 900, "scopes": ["run-input:shop"]}
    TrustedIssuer.objects.create(issuer=issuer.url, audiences=[OURS], rules=[rule], max_ttl=3600)
    answer = exchange(issuer.token(aud=OURS, sub=ACCOUNT, jti="1"))
    assert answer.status_code == 200, answer.content
    assert answer.json()["expires_in"] <= 900
    return Api(answer.json()["access_token"])


def test_a_pod_reads_the_input_of_its_project_and_nothing_else(pod):
    got = pod.post(f"{URL}:run-input", {"scheduled_at": AT})
    assert got.json()["secrets"] == {"PASSWORD": SECRET}
    make_project("other")
    refused = [
        pod.post("jobs/other/orders.daily:run-input", {"scheduled_at": AT}),
        pod.get(URL),
        pod.get("job-secrets/shop"),
        pod.put(URL, {"text": "x"}),
        pod.post("tokens", {"name": "more"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)


def test_a_token_for_reading_has_no_inputs(pod):
    admin = make_principal(Role.ADMIN)
    _, reader = principals.create_token(admin, name="t", expires_at=None, actor=ACTOR, scopes=["read"])
    answer = Api(reader).post(f"{URL}:run-input", {"scheduled_at": AT})
    assert answer.status_code == 403
    assert "$HOME" not in answer.content.decode()
