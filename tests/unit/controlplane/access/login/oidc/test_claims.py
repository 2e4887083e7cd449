"""Rules of claims: what they give, and what a value cannot do."""

from __future__ import annotations

import pytest

from controlplane.access.login.oidc.claims import (
    ClaimRule,
    RoleClaim,
    check_groups_complete,
    claimed_access,
    match_rules,
    values_of,
)
from controlplane.errors import TooManyGroups
from controlplane.scopes import Scope

ML = ClaimRule("groups", "cp-ml-*", "ml", "editor", {"project": "ml-*"})


def access(rule, *groups):
    return claimed_access([rule], {"groups": list(groups)})


def test_the_matched_part_replaces_the_star_in_the_scope():
    result = access(ML, "cp-ml-vision", "cp-ml-speech", "other")

    assert result.teams == {"ml"}
    assert result.roles == {
        RoleClaim("editor", Scope(project="ml-vision"), "ml"),
        RoleClaim("editor", Scope(project="ml-speech"), "ml"),
    }


@pytest.mark.parametrize(
    "group", ["cp-ml-", "cp-ml", "CP-ML-vision", "cp-ml-*", "cp-ml- ", "cp-ml-a/b", "cp-ml-é"]
)
def test_a_part_that_could_change_the_meaning_of_a_scope_matches_nothing(group):
    assert access(ML, group).roles == frozenset()
    assert access(ML, group).teams == frozenset()


def test_an_empty_part_never_widens_a_scope():
    rule = ClaimRule("groups", "all", "", "admin", {"project": "*"})

    (match,) = match_rules([rule], {"groups": ["all"]})

    assert match.role is None
    assert "`*`" in match.problem


def test_an_exact_value_matches_only_itself():
    rule = ClaimRule("groups", "admins", role="admin")

    assert access(rule, "admins").roles == {RoleClaim("admin")}
    assert access(rule, "admins2", "x-admins", "Admins").roles == frozenset()


def test_a_claim_can_be_text_a_list_or_within_others():
    claims = {"role": "a", "realm_access": {"roles": ["b", 1, None, "c"]}, "a.b": ["exact"]}

    assert values_of(claims, "role") == ("a",)
    assert values_of(claims, "realm_access.roles") == ("b", "c")
    assert values_of(claims, "a.b") == ("exact",)
    assert values_of(claims, "role.x") == ()
    assert values_of(claims, "missing") == ()


@pytest.mark.parametrize(
    "claims",
    [{"_claim_names": {"groups": "src1"}}, {"hasgroups": True}, {"hasgroups": "true", "groups": ["a"]}],
)
def test_left_out_groups_are_refused(claims):
    with pytest.raises(TooManyGroups, match="use app roles"):
        check_groups_complete(claims, "groups")


def test_left_out_groups_do_not_matter_to_app_roles():
    check_groups_complete({"_claim_names": {"groups": "src1"}, "hasgroups": True}, "roles_of_app")
