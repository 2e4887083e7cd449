"""A workload gets a token of ours for its issuer's, by the rules, once, and for no longer than it may."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from controlplane.access import principals
from controlplane.access.authentication import caller_by_header
from controlplane.access.federation.exchange import ExchangeRefused, ExchangeRequest, exchange_token
from controlplane.access.issuer_models import TrustedIssuer, UsedTokenId
from controlplane.access.issuers.documents import DOCUMENTS
from controlplane.access.models import AuditRecord, PrincipalKind, Token
from controlplane.errors import IssuerUnavailable
from controlplane.events.models import Event
from controlplane.identity.roles import Action
from tests.support.api_client import ACTOR, make_principal

OURS = "https://controlplane.example"
POD = {"kubernetes.io": {"namespace": "prod", "serviceaccount": {"name": "agent"}}}
SUBJECT = "system:serviceaccount:prod:agent"


@pytest.fixture
def service(db):
    return make_principal("editor", name="deployer")


def trust(issuer, *rules, **fields) -> TrustedIssuer:
    default = {"match": {"sub": "system:serviceaccount:prod:*"}, "principal": "deployer", "ttl": 600}
    columns = {"audiences": [OURS], "max_ttl": 3600, **fields}
    return TrustedIssuer.objects.create(issuer=issuer.url, rules=list(rules) or [default], **columns)


def subject_token(issuer, **claims) -> str:
    return issuer.token(**{"aud": OURS, "sub": SUBJECT, "jti": f"id-{time.time_ns()}", **POD, **claims})


def exchange(text: str, **fields):
    return exchange_token(ExchangeRequest(text, **fields))


def refusal(text: str, **fields) -> tuple[str, str]:
    with pytest.raises(ExchangeRefused) as error:
        exchange(text, **fields)
    assert SUBJECT not in error.value.description
    return error.value.error, error.value.description


def test_a_pod_gets_a_token_of_its_rules_principal(issuer, service):
    trust(issuer)

    token, secret, scopes = exchange(subject_token(issuer), request_id="r1")

    assert secret.startswith("cp_oat_")
    assert scopes == ("all",)
    caller, _ = caller_by_header(f"Bearer {secret}")
    assert caller.name == "deployer"
    assert caller.verdict(Action.OVERRIDE_WRITE).allowed
    remaining = token.expires_at - timezone.now()
    assert timedelta(seconds=590) < remaining <= timedelta(seconds=600)
    record = AuditRecord.objects.get(action="federation.exchanged")
    assert (record.actor, record.identity) == ("deployer", f"{issuer.url}#{SUBJECT}")
    assert Event.objects.get(type="federation.exchanged").data["rule"] == "0"


def test_a_workflow_gets_the_principal_of_its_template(issuer, db):
    make_principal("editor", name="gh-74")
    match = {"repository_id": "74", "ref": "refs/heads/main"}
    trust(issuer, {"match": match, "principal_template": "gh-{repository_id}", "scopes": ["read"]})
    workflow = {"sub": "repo:acme/app:ref:refs/heads/main", "ref": "refs/heads/main", "repository_id": "74"}

    token, secret, scopes = exchange(subject_token(issuer, **workflow))

    assert token.principal.name == "gh-74"
    assert scopes == ("read",)
    caller, _ = caller_by_header(f"Bearer {secret}")
    assert not caller.verdict(Action.OVERRIDE_WRITE).allowed
    assert "`ref`" in refusal(subject_token(issuer, **workflow | {"ref": "refs/heads/evil"}))[1]


def test_a_token_is_exchanged_once(issuer, service):
    trust(issuer)
    text = subject_token(issuer)
    exchange(text)

    assert "`jti`" in refusal(text)[1]
    assert Token.objects.filter(principal=service).count() == 1
    assert UsedTokenId.objects.count() == 1
    # Another issuer may use the same id, and so may the same one for another token.
    assert exchange(subject_token(issuer))


def test_a_refused_token_can_be_exchanged_after_its_rule_was_corrected(issuer, service):
    row = trust(issuer, {"match": {"sub": "another"}, "principal": "deployer"})
    text = subject_token(issuer)
    assert refusal(text)[0] == "invalid_grant"
    row.rules[0]["match"]["sub"] = SUBJECT
    row.save()

    assert exchange(text)


def test_ids_of_expired_tokens_are_forgotten(issuer, service):
    UsedTokenId.objects.create(digest=b"old", expires_at=datetime.now(UTC) - timedelta(hours=2))
    UsedTokenId.objects.create(digest=b"new", expires_at=datetime.now(UTC) - timedelta(minutes=2))
    trust(issuer)

    exchange(subject_token(issuer))

    assert not UsedTokenId.objects.filter(digest=b"old").exists()
    assert UsedTokenId.objects.count() == 2


@pytest.mark.parametrize(
    ("claims", "error", "part"),
    [
        ({"sub": "system:serviceaccount:other:agent"}, "invalid_grant", "`sub`"),
        ({"aud": "another"}, "invalid_grant", "`aud`"),
        ({"iat": int(time.time()) - 700}, "invalid_grant", "issued more than"),
        ({"exp": int(time.time()) - 70}, "invalid_grant", "expired"),
        ({"iss": "https://another.example"}, "invalid_grant", "`iss`"),
        ({"sub": None}, "invalid_grant", "`sub`"),
    ],
)
def test_a_token_that_misses_a_claim_is_refused(issuer, service, claims, error, part):
    trust(issuer)

    code, description = refusal(subject_token(issuer, **claims))

    assert code == error
    assert part in description
    assert not Token.objects.filter(principal=service).exists()


def test_a_rules_own_audience_is_a_target(issuer, service):
    rule = {"match": {"sub": SUBJECT}, "principal": "deployer", "audience": "deployments"}
    trust(issuer, rule, audiences=[OURS, "deployments"])

    assert refusal(subject_token(issuer))[0] == "invalid_target"
    assert exchange(subject_token(issuer, aud=[OURS, "deployments"]))


def test_only_this_control_plane_can_be_requested(issuer, service):
    trust(issuer)

    assert refusal(subject_token(issuer), audience="https://other.example")[0] == "invalid_target"
    assert exchange(subject_token(issuer), audience=OURS)


def test_scopes_can_be_narrowed_and_not_widened(issuer, service):
    trust(issuer, {"match": {"sub": SUBJECT}, "principal": "deployer", "scopes": ["read", "agents"]})

    assert exchange(subject_token(issuer), scopes=("read",)).scopes == ("read",)
    assert refusal(subject_token(issuer), scopes=("read", "all"))[0] == "invalid_scope"


def test_the_result_ends_with_the_subjects_token(issuer, service):
    trust(issuer)
    ends_at = int(time.time()) + 100

    token, _, _ = exchange(subject_token(issuer, exp=ends_at))

    assert token.expires_at.timestamp() <= ends_at


@pytest.mark.parametrize("kind", [PrincipalKind.PERSON, PrincipalKind.AGENT])
def test_no_workload_acts_as_a_person_or_an_agent(issuer, db, kind):
    principals.create_principal("deployer", kind=kind, actor=ACTOR)
    trust(issuer)

    assert "service" in refusal(subject_token(issuer))[1]


def test_a_disabled_principal_gets_nothing(issuer, service):
    make_principal("admin", name="last-admin")
    principals.set_active("deployer", is_active=False, actor=ACTOR)
    trust(issuer)

    assert refusal(subject_token(issuer))[0] == "invalid_grant"


def test_a_refusal_is_recorded_once_a_minute_and_only_for_signed_tokens(issuer, service):
    trust(issuer)
    for _ in range(3):
        refusal(subject_token(issuer, sub="system:serviceaccount:other:agent"))
    forged = subject_token(issuer)
    refusal(forged[:-8] + "AAAAAAAA")

    record = AuditRecord.objects.get(action="federation.refused")
    assert record.object_id == issuer.url
    assert "`sub`" in record.reason


def test_nothing_is_exchanged_while_the_keys_cannot_be_read(issuer, service):
    trust(issuer)
    issuer.is_down = True

    with pytest.raises(IssuerUnavailable):
        exchange(subject_token(issuer))


def test_pinned_keys_need_no_issuer(issuer, service):
    trust(issuer, jwks=issuer.jwks)
    issuer.is_down = True

    assert exchange(subject_token(issuer))
    assert issuer.requests == []


def test_tokens_of_a_rotated_key_are_exchanged(issuer, service):
    trust(issuer)
    exchange(subject_token(issuer))
    issuer.rotate("ec-2")
    DOCUMENTS.clear()

    assert exchange(subject_token(issuer))
