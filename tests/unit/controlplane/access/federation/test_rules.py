"""Which tokens a rule trusts, and which rules trust too many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.access.federation.rule_checks import GITHUB, rule_errors
from controlplane.access.federation.rules import Rule, claim_at, judge, lifetime, missed_claims
from controlplane.access.federation.stored_rules import rule_from, show_rule

CLUSTER = "https://kubernetes.example"
POD = {
    "iss": CLUSTER,
    "aud": ["https://controlplane.example"],
    "sub": "system:serviceaccount:prod:agent",
    "kubernetes.io": {
        "namespace": "prod",
        "serviceaccount": {"name": "agent", "uid": "9f3c"},
        "pod": {"name": "agent-0"},
        "node": {"name": "node-7"},
    },
}
WORKFLOW = {
    "iss": GITHUB,
    "aud": "https://controlplane.example",
    "sub": "repo:acme/app:environment:production",
    "repository": "acme/app",
    "repository_id": "74",
    "repository_owner_id": "65",
    "ref": "refs/heads/main",
    "environment": "production",
    "job_workflow_ref": "acme/app/.github/workflows/deploy.yml@refs/heads/main",
    "runner_environment": "github-hosted",
}
POD_RULE = Rule(
    match={
        "sub": "system:serviceaccount:prod:agent",
        "kubernetes.io/namespace": "prod",
        "kubernetes.io/serviceaccount/name": "agent",
        "kubernetes.io/pod/name": "agent-*",
        "kubernetes.io/node/name": "node-*",
    },
    audience="https://controlplane.example",
    principal="prod-agent",
)
WORKFLOW_RULE = Rule(
    match={
        "repository": "acme/app",
        "repository_id": "74",
        "repository_owner_id": "65",
        "ref": "refs/heads/main",
        "environment": "production",
        "job_workflow_ref": "acme/app/.github/workflows/*@refs/heads/main",
        "runner_environment": "github-hosted",
    },
    principal_template="gh-{repository_id}",
)


def test_a_pod_and_a_workflow_get_the_principal_of_their_rule():
    assert judge([POD_RULE], POD).results[0].principal == "prod-agent"
    assert judge([WORKFLOW_RULE], WORKFLOW).results[0].principal == "gh-74"


@pytest.mark.parametrize("claim", POD_RULE.match)
def test_a_pod_that_differs_in_one_claim_is_refused(claim):
    rule = replace(POD_RULE, match={**POD_RULE.match, claim: "another"})

    assert judge([rule], POD).nearest_miss == (claim,)


@pytest.mark.parametrize("claim", WORKFLOW_RULE.match)
@pytest.mark.parametrize("value", ["another", None, {"a": 1}, ["another"]])
def test_a_workflow_that_differs_in_one_claim_is_refused(claim, value):
    judgement = judge([WORKFLOW_RULE], {**WORKFLOW, claim: value})

    assert judgement.first_match is None
    assert claim in judgement.nearest_miss


def test_a_token_for_another_audience_is_refused():
    assert judge([POD_RULE], {**POD, "aud": "another"}).nearest_miss == ("aud",)


def test_the_first_rule_that_matches_decides():
    wide = Rule(match={"sub": "system:serviceaccount:prod:*"}, principal="wide")
    other = replace(wide, match={"sub": "system:serviceaccount:test:*"})

    judgement = judge([other, POD_RULE, wide], POD)

    assert judgement.first_match == 1
    assert [result.principal for result in judgement.results] == ["", "prod-agent", "wide"]


@pytest.mark.parametrize("value", ["a/b", "", "x-", "x" * 80, "ümlaut", None, ["7", "8"], {"id": 7}])
def test_a_claim_that_makes_no_name_does_not_match(value):
    rule = Rule(match={"ref": "refs/heads/main"}, principal_template="gh-{repository_id}")

    result = judge([rule], {**WORKFLOW, "repository_id": value}).results[0]

    assert result.missed == ("repository_id",)
    assert result.principal == ""


@pytest.mark.parametrize(
    ("claims", "path", "value"),
    [
        ({"a": 1}, "a", 1),
        ({"a/b": 1, "a": {"b": 2}}, "a/b", 1),
        ({"a": {"b": {"c/d": 3}}}, "a/b/c/d", 3),
        ({"https://example.com/team": "ml"}, "https://example.com/team", "ml"),
        ({"a": "text"}, "a/b", None),
        ({}, "a", None),
        ({"": {"": 1}}, "/", None),
    ],
)
def test_a_path_leads_into_claims_whose_names_may_have_slashes(claims, path, value):
    assert claim_at(claims, path) == value


def test_numbers_booleans_and_lists_match_as_texts():
    claims = {"id": 7, "protected": True, "groups": ["a", "b"]}

    assert missed_claims({"id": "7", "protected": "true", "groups": "b"}, "", claims) == ()
    assert missed_claims({"id": "8", "protected": "True", "groups": "c"}, "", claims) == (
        "id",
        "protected",
        "groups",
    )


@pytest.mark.parametrize(
    ("ttl", "max_ttl", "remaining", "seconds"),
    [
        (600, 3600, 9000, 600),
        (3600, 900, 9000, 900),
        (9000, 9000, 9000, 3600),
        (600, 600, 30, 30),
        (60, 60, -5, 0),
    ],
)
def test_the_result_lives_no_longer_than_anything_it_depends_on(ttl, max_ttl, remaining, seconds):
    assert lifetime(ttl=ttl, max_ttl=max_ttl, expires_at=1000 + remaining, now=1000) == seconds


def codes(rule: Rule, issuer: str = CLUSTER) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in rule_errors(rule, issuer, "")]


TOO_WIDE = ("/match", "too_wide")


@pytest.mark.parametrize(
    "match",
    [
        {},
        {"sub": "*"},
        {"sub": "**"},
        {"sub": ""},
        {"sub": "system:serviceaccount:*:agent"},
        {"sub": "system:serv*"},
        {"sub": "repo:**"},
        {"sub": "*:agent"},
        {"kubernetes.io/serviceaccount/name": "agent"},
        {"kubernetes.io/namespace": "*"},
        {"environment": "production"},
    ],
)
def test_a_rule_that_names_no_workload_is_refused(match):
    assert codes(Rule(match=match, principal="a")) == [TOO_WIDE]


@pytest.mark.parametrize(
    "match",
    [
        {"sub": "system:serviceaccount:prod:*"},
        {"sub": "spiffe://example.org/ns/prod/**"},
        {"kubernetes.io/namespace": "prod"},
        {"project_path": "acme/*"},
        {"azp": "deployer"},
    ],
)
def test_a_rule_that_names_a_workload_is_accepted(match):
    assert codes(Rule(match=match, principal="a")) == []


@pytest.mark.parametrize(
    ("removed", "changed"),
    [
        (("repository", "repository_id"), {}),
        (("repository_id",), {"repository": "acme/*"}),
        (("ref", "environment", "job_workflow_ref"), {}),
        (("environment", "job_workflow_ref"), {"ref": "refs/heads/*"}),
        (("environment", "ref"), {"job_workflow_ref": "**"}),
        (("repository", "repository_id"), {"sub": "repo:acme/app:ref:refs/heads/main"}),
    ],
)
def test_a_rule_for_github_names_a_repository_and_where_it_runs(removed, changed):
    match = {name: value for name, value in WORKFLOW_RULE.match.items() if name not in removed}

    assert codes(replace(WORKFLOW_RULE, match={**match, **changed}), GITHUB) == [TOO_WIDE]
    assert codes(WORKFLOW_RULE, GITHUB) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"principal": ""}, ("", "required")),
        ({"principal_template": "gh-{sub}"}, ("", "required")),
        ({"principal": "", "principal_template": "{sub}"}, ("/principal_template", "too_wide")),
        ({"principal": "", "principal_template": "gh-{a}-{b}"}, ("/principal_template", "malformed")),
        ({"principal": "", "principal_template": "gh-fixed"}, ("/principal_template", "malformed")),
        ({"principal": "", "principal_template": "gh-{a"}, ("/principal_template", "malformed")),
        ({"scopes": ("openid",)}, ("/scopes", "unknown_scope")),
        ({"scopes": ()}, ("/scopes", "unknown_scope")),
        ({"ttl": 59}, ("/ttl", "out_of_range")),
        ({"ttl": 3601}, ("/ttl", "out_of_range")),
    ],
)
def test_a_malformed_rule_is_refused(changes, code):
    assert codes(replace(POD_RULE, **changes)) == [code]


def test_a_stored_rule_is_the_same_rule():
    for rule in (POD_RULE, WORKFLOW_RULE):
        assert rule_from(show_rule(rule)) == rule
