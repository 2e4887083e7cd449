"""Agents join with a token of their issuer, and join again before their credential ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from controlplane.access import principals, role_bindings
from controlplane.access.issuer_models import TrustedIssuer, UsedTokenId
from controlplane.access.issuers.documents import DOCUMENTS
from controlplane.access.models import AuditRecord, Principal, Token
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent, Lease
from registry.joining.models import JoinToken, SubjectAgent
from tests.api.registry.test_joining import beat
from tests.support.api_client import ACTOR, AGENT, Api, make_principal, token_for
from tests.support.token_issuer import RSA_KEY, TokenIssuer, running_issuer, sign

OURS = "https://controlplane.example"
SUBJECT = "system:serviceaccount:prod:agent"


@pytest.fixture
def api(db):
    return Api(token_for("admin"))


@pytest.fixture
def issuer(db, settings) -> Iterator[TokenIssuer]:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with running_issuer() as server:
        TrustedIssuer.objects.create(issuer=server.url, audiences=[OURS], rules=[], max_ttl=3600)
        yield server
    DOCUMENTS.clear()


def admit(api, issuer, **fields):
    """Create a join token with an issuer rule."""
    rule = {"issuer": issuer.url, "match": {"sub": SUBJECT}, "ttl": 600}
    body = {"name": "pods", "name_pattern": "a*", "uses": 10, "issuer_rule": rule}
    return api.post("join-tokens", {**body, **fields})


def subject_token(issuer, **claims):
    return issuer.token(**{"aud": OURS, "sub": SUBJECT, "jti": str(uuid4()), **claims})


def join(issuer, key="", text="", **fields):
    body = {**AGENT, "subject_token": text or subject_token(issuer), **fields}
    return Api().post("agents:join", body, **({"Idempotency_Key": key} if key else {}))


def seconds_left(answer) -> float:
    return (parse_datetime(answer.json()["token_expires_at"]) - timezone.now()).total_seconds()


def test_a_join_token_with_an_issuer_rule_has_no_secret(api, issuer):
    answer = admit(api, issuer)

    assert answer.status_code == 201
    assert (answer.json()["token"], answer.json()["hint"]) == (None, "")
    assert answer.json()["issuer_rule"]["match"] == {"sub": SUBJECT}
    assert api.get("join-tokens").json()["items"][0]["issuer_rule"]["ttl"] == 600


def test_a_pod_joins_with_its_service_account(api, issuer):
    admit(api, issuer)

    answer = join(issuer)

    assert answer.status_code == 201
    agent = answer.json()["agent"]
    assert 590 < seconds_left(answer) <= 600
    assert beat(answer.json()["token"], agent["agent_id"]).status_code == 200
    assert JoinToken.objects.get().uses_left == 9
    assert Lease.objects.get().token_expires_at is not None


def test_an_agent_joins_again_over_a_rotation_of_the_issuers_keys(api, issuer):
    admit(api, issuer)
    first = join(issuer).json()
    issuer.rotate("ec-2")
    DOCUMENTS.clear()

    again = join(issuer)

    assert again.status_code == 200
    assert again.json()["agent"]["agent_id"] == first["agent"]["agent_id"]
    assert again.json()["token"] != first["token"]
    # The former credential ends by itself: no heartbeat fails meanwhile.
    for token in (first["token"], again.json()["token"]):
        assert beat(token, first["agent"]["agent_id"]).status_code == 200
    assert JoinToken.objects.get().uses_left == 9
    assert Principal.objects.filter(name__startswith="agent.").count() == 1


def test_the_credential_ends_although_its_heartbeats_were_permitted(api, issuer):
    admit(api, issuer)
    joined = join(issuer).json()
    beat(joined["token"], joined["agent"]["agent_id"])

    Token.objects.filter(principal__kind="agent").update(expires_at=timezone.now() - timedelta(seconds=1))

    assert beat(joined["token"], joined["agent"]["agent_id"]).status_code == 401
    assert join(issuer).status_code == 200


def test_an_agent_renews_its_credential_after_uses_and_time_of_the_join_token_ended(api, issuer):
    admit(api, issuer, uses=1)
    join(issuer)
    JoinToken.objects.update(expires_at=F("created_at"))

    assert join(issuer).status_code == 200
    other = join(issuer, name="a2", topic_name="dcm.agent.a2")
    assert (other.status_code, other.json()["code"]) == (401, "not_authenticated")


def test_revoking_the_join_token_ends_renewals(api, issuer):
    created = admit(api, issuer).json()
    join(issuer)

    api.delete(f"join-tokens/{created['id']}")

    assert join(issuer).status_code == 401


def test_a_token_of_the_issuer_joins_once(api, issuer):
    admit(api, issuer)
    text = subject_token(issuer)
    assert join(issuer, text=text).status_code == 201

    replayed = join(issuer, text=text)

    assert replayed.status_code == 401
    assert "`jti`" in replayed.json()["detail"]
    assert Token.objects.filter(principal__kind="agent").count() == 1
    assert AuditRecord.objects.filter(action="federation.refused").count() == 1


def test_a_join_whose_answer_was_lost_can_be_repeated_with_its_key(api, issuer):
    admit(api, issuer)
    text = subject_token(issuer)
    first = join(issuer, "k1", text).json()

    again = join(issuer, "k1", text)

    assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
    assert again.json()["agent"]["agent_id"] == first["agent"]["agent_id"]
    assert seconds_left(again) <= 600
    agent_id = first["agent"]["agent_id"]
    assert beat(first["token"], agent_id).status_code == 401
    assert beat(again.json()["token"], agent_id).status_code == 200
    # From now on the credential is in use, and the key is worth nothing.
    assert join(issuer, "k1", text).status_code == 409


def test_a_dry_run_uses_nothing(api, issuer):
    admit(api, issuer)
    text = subject_token(issuer)

    answer = Api().post("agents:join?dry_run=true", {**AGENT, "subject_token": text})

    assert answer.status_code == 201
    assert (UsedTokenId.objects.count(), Agent.objects.count(), SubjectAgent.objects.count()) == (0, 0, 0)
    assert join(issuer, text=text).status_code == 201


@pytest.mark.parametrize(
    ("claims", "claim"),
    [
        ({"sub": "system:serviceaccount:test:agent"}, "`sub`"),
        ({"aud": "https://other.example"}, "`aud`"),
        ({"exp": int(time.time()) - 100}, "expired"),
        ({"iat": int(time.time()) - 700}, "issued more than"),
        ({"iss": "https://other.example"}, "`iss`"),
    ],
)
def test_another_workload_does_not_join(api, issuer, claims, claim):
    admit(api, issuer)

    answer = join(issuer, text=subject_token(issuer, **claims))

    assert answer.status_code == 401
    assert claim in answer.json()["detail"]
    assert not Agent.objects.exists()


def test_a_forged_token_does_not_join(api, issuer):
    admit(api, issuer)
    forged = sign(issuer.claims(aud=OURS, sub=SUBJECT), RSA_KEY, kid="other")

    assert join(issuer, text=forged).status_code == 401


def test_nobody_joins_while_the_issuers_keys_are_unknown(api, issuer):
    admit(api, issuer)
    issuer.is_down = True

    answer = join(issuer)

    assert (answer.status_code, answer.json()["code"]) == (503, "issuer_unavailable")


def test_the_terms_of_the_join_token_hold(api, issuer):
    admit(api, issuer, environment="prod")

    assert join(issuer, environment="test").status_code == 400
    assert join(issuer, name="b1").status_code == 400
    assert join(issuer).status_code == 201


def test_of_several_rules_that_match_the_terms_decide(api, issuer):
    admit(api, issuer, name_pattern="b*")
    admit(api, issuer)

    assert join(issuer).status_code == 201


def test_another_subject_does_not_get_the_name(api, issuer):
    admit(api, issuer)
    rule = {"issuer": issuer.url, "match": {"sub": "system:serviceaccount:test:agent"}}
    admit(api, issuer, issuer_rule=rule)
    join(issuer)

    answer = join(issuer, text=subject_token(issuer, sub="system:serviceaccount:test:agent"))

    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")


def test_an_agent_that_an_operator_cut_off_stays_so(api, issuer):
    admit(api, issuer)
    join(issuer)
    principal = Principal.objects.get(kind="agent")
    api.patch(f"principals/{principal.name}", {"is_active": False})

    assert join(issuer).status_code == 409


def test_a_removed_agent_joins_as_a_new_one(api, issuer):
    admit(api, issuer)
    join(issuer)
    Agent.objects.all().delete()

    assert join(issuer).status_code == 201
    assert JoinToken.objects.get().uses_left == 8


def test_an_operator_cannot_make_such_a_credential_endless(api, issuer):
    admit(api, issuer)
    joined = join(issuer).json()
    agent_id = joined["agent"]["agent_id"]

    assert api.post(f"agents/{agent_id}:rotate").status_code == 409
    rotated = Api(joined["token"]).post(f"agents/{agent_id}:rotate")
    assert rotated.status_code == 200
    assert rotated.json()["token_expires_at"] == joined["token_expires_at"]


def test_two_tokens_in_one_request_are_refused(api, issuer):
    secret = api.post("join-tokens", {"name": "t", "name_pattern": "*"}).json()["token"]

    answer = Api(secret).post("agents:join", {**AGENT, "subject_token": subject_token(issuer)})

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("rule", "pointer"),
    [
        ({"issuer": "https://unknown.example"}, "/issuer_rule/issuer"),
        ({"match": {"sub": "*"}}, "/issuer_rule/match"),
        ({"match": {}}, "/issuer_rule/match"),
        ({"ttl": 30}, "/issuer_rule/ttl"),
        ({"ttl": 7200}, "/issuer_rule/ttl"),
        ({"principal": "x"}, "/issuer_rule/principal"),
    ],
)
def test_an_invalid_issuer_rule_is_refused(api, issuer, rule, pointer):
    full = {"issuer": issuer.url, "match": {"sub": SUBJECT}, **rule}

    answer = admit(api, issuer, issuer_rule=full)

    assert answer.status_code == 400
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_only_a_join_token_without_a_secret_lives_for_years(api, issuer):
    year = 365 * 24 * 3600

    assert admit(api, issuer, expires_in_seconds=year).status_code == 201
    answer = admit(api, issuer, expires_in_seconds=year, issuer_rule=None)
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/expires_in_seconds"]


def test_the_agent_belongs_to_the_team_of_the_join_token(api, issuer):
    team = create_team("ml", actor=ACTOR)
    admit(api, issuer, team="ml")

    answer = join(issuer)

    assert answer.status_code == 201
    assert Agent.objects.get().team == team
    assert join(issuer).status_code == 200
    assert Agent.objects.get().team == team


def test_a_teams_administrator_does_not_decide_about_issuers(api, issuer):
    team = create_team("ml", actor=ACTOR)
    principal = make_principal()
    role_bindings.bind_role(principal, Role.ADMIN, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=team))
    _, secret = principals.create_token(principal, name="t", expires_at=None, actor=ACTOR)

    assert admit(Api(secret), issuer, team="ml", issuer_rule=None).status_code == 201
    assert admit(Api(secret), issuer, team="ml").status_code == 403
