"""Who gets a name that several documents claim: every row of the table of conflicts, and every rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.errors import InvalidRequest
from registry.agent_configs.claims.contests import TieRule
from registry.agent_configs.claims.decide import ClaimPolicy, Decision, decide, is_remembered
from registry.agent_configs.claims.grants import (
    Grant,
    Ownership,
    OwnershipMode,
    Pin,
    Release,
    Transfer,
    apply_transfer,
)
from registry.agent_configs.claims.history import GRACE, History, drop_expired, update_history
from registry.agent_configs.claims.observations import Subject
from registry.agent_configs.claims.verdicts import DecidingRule, Reason, redact_verdict
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import Canary, ClaimKind, Naming, TaskTypeFacts
from tests.support.agent_config_samples import NOW, agent, content, fates, named, published, task, verdict

V2 = ClaimPolicy(naming=Naming(Dialect.CONNECTOR_V2))


def after(decision: Decision, history: History | None = None, *, now=NOW, activated: bool = True) -> History:
    accepted = [claim for claim in decision.accepted if is_remembered(claim)]
    dropped = [claim.claim for claim in decision.dropped if is_remembered(claim.claim)]
    accepted += [endpoint.claim for endpoint in decision.endpoints if endpoint.accepted]
    dropped += [endpoint.claim for endpoint in decision.endpoints if not endpoint.accepted]
    return update_history(history or {}, accepted, dropped, now=now, activated=activated)


def test_a_document_alone_has_what_it_claims():
    decision = decide([published("one")])

    assert fates(decision) == {("one", "agent one"): "Accepted", ("one", "task type one_task"): "Accepted"}


def test_the_older_document_wins_and_the_loser_is_told_who_and_why():
    older = published("older", "acme", content({"t": "a"}), age=2)
    newer = published("newer", "other", content({"t": "b", "u": "b"}), age=1)

    decision = decide([newer, older])

    lost = verdict(decision, newer, task("t"))
    assert (lost.reason, lost.rule, lost.winner.team) == (
        Reason.TASK_TYPE_CONFLICT,
        DecidingRule.CREATED,
        "acme",
    )
    assert lost.message == "The task type t belongs to cluster/acme/older of acme: its document is older."
    assert verdict(decision, newer, task("u")).accepted
    assert verdict(decision, newer, named("b")).accepted


def test_an_agent_that_loses_its_id_loses_its_task_types():
    older = published("older", "acme", content({"t": "same"}), age=2)
    newer = published(
        "newer", "other", content({"u": "same", "v": "mine"}, {"same": agent("x.y:1"), "mine": agent()})
    )

    decision = decide([older, newer])

    assert verdict(decision, newer, named("same")).reason is Reason.AGENT_NAME_CONFLICT
    lost = verdict(decision, newer, task("u"))
    assert lost.reason is Reason.AGENT_NAME_CONFLICT
    assert lost.message.endswith("because this document does not own the agent same.")
    assert verdict(decision, newer, task("v")).accepted


def test_ids_can_carry_their_team():
    same = [published("one", "acme", content({"t": "a"})), published("two", "other", content({"u": "a"}))]

    decision = decide(same, policy=ClaimPolicy(naming=Naming(namespaced_ids=True)))

    assert {verdict.claim.agent for verdict in decision.verdicts} == {"acme--a", "other--a"}
    assert not decision.dropped


@pytest.mark.parametrize("team", ["acme", "other"])
def test_equal_claims_are_shared(team):
    same = content({"t": "a"})
    first, second = published("first", "acme", same, age=2), published("second", team, same)

    decision = decide([first, second])

    assert not decision.dropped
    assert {verdict.reason for verdict in decision.of(second.id)} == {Reason.SHARED_IDENTICAL}


def test_two_documents_of_one_team_conflict_too():
    first = published("first", "acme", content({"t": "a"}), age=2)
    second = published("second", "acme", content({"t": "b"}))

    assert verdict(decide([first, second]), second, task("t")).reason is Reason.TASK_TYPE_CONFLICT


def test_a_reserved_task_type_is_nobodys():
    document = published("one", "acme", content({"noop": "a"}))

    decision = decide([document], policy=ClaimPolicy(reserved_task_types=frozenset({"noop"})))

    assert verdict(decision, document, task("noop")).reason is Reason.RESERVED_TASK_TYPE


class TestOwnership:
    older = published("older", "acme", content({"acme_t": "a"}), age=2)
    newer = published("newer", "other", content({"acme_t": "b"}))

    def test_a_grant_beats_age(self):
        decision = decide([self.older, self.newer], Ownership(grants=(Grant("other", "acme_*"),)))

        assert verdict(decision, self.older, task("acme_t")).rule is DecidingRule.GRANT

    def test_an_exact_grant_beats_a_pattern(self):
        grants = (Grant("acme", "acme_*"), Grant("other", "acme_t"))

        assert verdict(
            decide([self.older, self.newer], Ownership(grants=grants)), self.newer, task("acme_t")
        ).accepted

    def test_without_a_claim_a_grant_takes_nothing_away(self):
        decision = decide([self.older], Ownership(grants=(Grant("other", "acme_*"),)))

        assert not decision.dropped

    def test_where_grants_are_needed_others_get_nothing(self):
        ownership = Ownership(OwnershipMode.GRANTED, (Grant("other", "acme_*"),))

        decision = decide([self.older, self.newer], ownership)

        assert verdict(decision, self.older, task("acme_t")).reason is Reason.NOT_OWNED
        assert verdict(decision, self.older, named("a")).accepted
        assert verdict(decision, self.newer, task("acme_t")).accepted

    @pytest.mark.parametrize(
        ("pattern", "name", "fits"),
        [
            ("acme_*", "acme_x", True),
            ("acme_*", "acme_", True),
            ("acme_*", "acmex", False),
            ("*", "anything", True),
            ("a.c", "abc", False),
            ("a*c*", "abcd", True),
            ("exact", "exact", True),
            ("exact", "exactly", False),
        ],
    )
    def test_what_a_pattern_fits(self, pattern, name, fits):
        assert (Grant("acme", pattern).specificity(ClaimKind.TASK_TYPE, name) > 0) is fits
        assert Grant("acme", pattern).specificity(ClaimKind.AGENT, name) == 0

    def test_a_released_name_goes_to_whoever_claims_it_and_not_before(self):
        ownership = Ownership(releases=frozenset({Release("acme", ClaimKind.TASK_TYPE, "acme_t")}))
        history = after(decide([self.older]))

        assert not decide([self.older], ownership, history).dropped
        decision = decide([self.older, self.newer], ownership, history)
        assert verdict(decision, self.older, task("acme_t")).rule is DecidingRule.RELEASED

    def test_a_pin_beats_every_other_rule(self):
        pin = Pin("other", ClaimKind.TASK_TYPE, "acme_t")
        released = Release("other", ClaimKind.TASK_TYPE, "acme_t")
        ownership = Ownership(
            grants=(Grant("acme", "acme_t"),), releases=frozenset({released}), pins=frozenset({pin})
        )
        history = after(decide([self.older]))

        decision = decide([self.older, self.newer], ownership, history)

        lost = verdict(decision, self.older, task("acme_t"))
        assert lost.rule is DecidingRule.PINNED
        assert lost.message.endswith("an administrator pinned the name to its team.")
        # Without a claim of the team, the name is served by who claims it.
        assert not decide([self.older], ownership, history).dropped

    def test_a_pinned_tie_is_decided(self):
        ownership = Ownership(pins=frozenset({Pin("other", ClaimKind.TASK_TYPE, "acme_t")}))
        policy = ClaimPolicy(tie_rule=TieRule.REJECT_BOTH)

        assert verdict(
            decide([self.older, self.newer], ownership, policy=policy), self.newer, task("acme_t")
        ).accepted
        assert not verdict(
            decide([self.older, self.newer], policy=policy), self.newer, task("acme_t")
        ).accepted

    def test_a_pinned_name_is_not_transferred(self):
        ownership = Ownership(pins=frozenset({Pin("acme", ClaimKind.TASK_TYPE, "acme_t")}))
        order = Transfer(ClaimKind.TASK_TYPE, "acme_t", "acme", "other")
        claims = [verdict.claim for verdict in decide([self.older, self.newer]).verdicts]

        with pytest.raises(InvalidRequest, match="Unpin it"):
            apply_transfer(ownership, order, claims)

    def test_a_transfer_moves_an_established_name_at_once(self):
        documents = [self.older, self.newer]
        ownership = Ownership(OwnershipMode.GRANTED, (Grant("acme", "acme_t"), Grant("other", "other_*")))
        before = decide(documents, ownership)
        order = Transfer(ClaimKind.TASK_TYPE, "acme_t", "acme", "other")

        claims = [verdict.claim for verdict in before.verdicts]
        decision = decide(documents, apply_transfer(ownership, order, claims), after(before))

        assert verdict(before, self.older, task("acme_t")).accepted
        assert verdict(decision, self.newer, task("acme_t")).accepted
        assert not verdict(decision, self.older, task("acme_t")).accepted

    def test_a_transfer_to_somebody_who_claims_nothing_is_refused(self):
        order = Transfer(ClaimKind.TASK_TYPE, "acme_t", "acme", "other")

        with pytest.raises(InvalidRequest, match="does not claim"):
            apply_transfer(Ownership(), order, [verdict.claim for verdict in decide([self.older]).verdicts])

    def test_a_transfer_from_somebody_who_has_nothing_is_refused(self):
        order = Transfer(ClaimKind.TASK_TYPE, "acme_t", "akme", "other")
        claims = [verdict.claim for verdict in decide([self.older, self.newer]).verdicts]

        with pytest.raises(InvalidRequest, match="akme neither claims"):
            apply_transfer(Ownership(), order, claims)
        assert apply_transfer(Ownership(grants=(Grant("akme", "acme_t"),)), order, claims).grants == (
            Grant("other", "acme_t"),
        )


class TestHistory:
    first = published("first", "acme", content({"t": "a"}))
    older = published("older", "other", content({"t": "b"}), age=9)

    def test_what_is_established_stays_although_an_older_document_comes(self):
        history = after(decide([self.first]))

        decision = decide([self.first, self.older], history=history)

        assert verdict(decision, self.older, task("t")).rule is DecidingRule.ESTABLISHED

    def test_what_was_accepted_but_never_given_out_is_still_older(self):
        history = after(decide([self.first]), activated=False)

        decision = decide([self.first, self.older], history=history)

        assert verdict(decision, self.older, task("t")).rule is DecidingRule.OLDEST

    def test_the_loser_is_promoted_when_the_winner_goes(self):
        history = after(decide([self.first, self.older]))

        decision = decide([self.first], history=history)

        assert verdict(decision, self.first, task("t")).accepted

    def test_a_document_that_is_deleted_and_recreated_keeps_its_seniority(self):
        both = [self.first, self.older]
        history = after(decide([self.first]))
        history = after(decide([self.older], history=history), history, now=NOW + timedelta(hours=1))
        recreated = replace(self.first, created_at=NOW + timedelta(hours=2))

        decision = decide(
            [recreated, self.older], history=drop_expired(history, now=NOW + timedelta(hours=2))
        )

        assert verdict(decision, recreated, task("t")).accepted
        late = drop_expired(history, now=NOW + timedelta(hours=1) + GRACE + timedelta(seconds=1))
        assert verdict(decide(both, history=late), self.older, task("t")).accepted

    def test_a_team_that_renames_its_document_keeps_its_claims(self):
        history = after(decide([self.first]))
        renamed = published("renamed", "acme", content({"t": "a"}))

        decision = decide([renamed, self.older], history=history)

        assert verdict(decision, renamed, task("t")).accepted

    def test_of_one_team_the_document_that_has_a_claim_keeps_it(self):
        history = after(decide([self.first]))
        second = published("a", "acme", content({"t": "c"}), age=5)

        decision = decide([self.first, second], history=history)

        assert verdict(decision, self.first, task("t")).accepted

    def test_a_bundle_that_is_held_robs_nobody(self):
        history = after(decide([self.first]))
        granted = Ownership(grants=(Grant("other", "t"),))

        history_after = after(decide([self.first, self.older], granted, history), history, activated=False)

        assert history_after["acme", task("t")].established
        assert not history_after["other", task("t")].established


class TestReferences:
    serving = published("serving", "acme", content({"t": "a"}))

    def test_a_document_may_name_what_another_one_of_its_team_serves(self):
        reference = published("reference", "acme", content({"t": ""}, {}, "t"))

        assert not decide([self.serving, reference]).dropped

    def test_it_does_not_without_one(self):
        reference = published("reference", "other", content({"t": ""}, {}, "t"))

        decision = decide([self.serving, reference])

        assert {verdict.reason for verdict in decision.of(reference.id)} == {Reason.NOBODY_SERVES}

    def test_an_agent_of_another_document_of_the_team_can_be_mapped(self):
        mapping = published("mapping", "acme", content({"u": "a"}, {}))
        foreign = published("foreign", "other", content({"v": "a"}, {}))

        decision = decide([self.serving, mapping, foreign])

        assert verdict(decision, mapping, task("u")).accepted
        assert verdict(decision, foreign, task("v")).reason is Reason.UNKNOWN_AGENT

    def test_spellings_of_two_documents_of_a_team_are_compared(self):
        first = published("first", "acme", content({"custom_sensor": "a"}))
        second = published("second", "acme", content({"customsensor": ""}, {}))

        decision = decide([first, second])

        assert verdict(decision, second, task("customsensor")).reason is Reason.NOBODY_SERVES
        assert {
            (observation.document.name, observation.subject) for observation in decision.observations
        } == {
            ("first", Subject.NEAR_MISS),
            ("second", Subject.NEAR_MISS),
        }


class TestEndpoints:
    ours = published("ours", "acme", content({"t": "a"}, {"a": agent("x.y:1", insecure=True)}), age=2)

    def theirs(self, team: str, **settings):
        return published("theirs", team, content({"u": "b"}, {"b": agent("X.y:1", **settings)}))

    def about(self, team: str, **settings):
        decision = decide([self.ours, self.theirs(team, **settings)])
        assert not decision.dropped
        return {(observation.subject, observation.is_warning) for observation in decision.observations}

    def test_a_team_may_share_an_endpoint_with_itself(self):
        assert self.about("acme", insecure=True) == {(Subject.ENDPOINT_SHARED, False)}

    def test_sharing_with_others_is_a_warning(self):
        assert self.about("other", insecure=True) == {(Subject.ENDPOINT_SHARED, True)}

    @pytest.mark.parametrize("settings", [{}, {"insecure": True, "service_config": "{}"}])
    def test_different_settings_of_one_team_are_a_warning(self, settings):
        assert self.about("acme", **settings) == {(Subject.ENDPOINT_SETTINGS_MISMATCH, True)}

    @pytest.mark.parametrize("settings", [{}, {"insecure": True, "service_config": "{}"}])
    def test_different_settings_of_another_team_cost_the_challenger_its_claims(self, settings):
        theirs = self.theirs("other", **settings)

        decision = decide([theirs, self.ours])

        assert {one.reason for one in decision.of(theirs.id)} == {Reason.ENDPOINT_SETTINGS_MISMATCH}
        assert all(one.accepted for one in decision.of(self.ours.id))
        message = verdict(decision, theirs, named("b")).message
        assert "cluster/acme/ours of acme has the endpoint x.y:1: its document is older" in message
        assert "equal insecure and defaultServiceConfig" in message

    def test_an_old_agent_that_moves_to_anothers_endpoint_does_not_own_it(self):
        """The age that counts is that of the endpoint in the team, not that of the agent."""
        old = published("theirs", "other", content({"u": "b"}, {"b": agent("z.y:1")}), age=9)
        history = after(decide([old, self.ours]))
        moved = replace(old, content=self.theirs("other").content, generation=2)

        decision = decide([moved, self.ours], history=history)

        assert {verdict.reason for verdict in decision.of(moved.id)} == {Reason.ENDPOINT_SETTINGS_MISMATCH}
        assert verdict(decision, moved, named("b")).rule is DecidingRule.ESTABLISHED

    def test_the_owner_may_change_its_settings_and_a_sharer_depends_on_it(self):
        sharer = self.theirs("other", insecure=True)
        history = after(decide([self.ours, sharer]))
        history = after(decide([self.ours, sharer], history=history), history, now=NOW + timedelta(hours=1))
        secure = replace(self.ours, content=content({"t": "a"}, {"a": agent("x.y:1")}), generation=2)

        decision = decide([secure, sharer], history=history)

        assert all(verdict.accepted for verdict in decision.of(secure.id))
        assert {verdict.reason for verdict in decision.of(sharer.id)} == {Reason.ENDPOINT_SETTINGS_MISMATCH}

    def test_who_waits_for_an_endpoint_gets_it_when_the_owner_leaves(self):
        theirs = self.theirs("other")
        history = after(decide([self.ours, theirs]))

        assert not decide([theirs], history=history).dropped

    def test_an_endpoint_can_be_granted(self):
        theirs = self.theirs("other")
        ownership = Ownership(grants=(Grant("other", "x.y:*", ClaimKind.ENDPOINT),))

        decision = decide([self.ours, theirs], ownership, after(decide([self.ours, theirs])))

        assert all(verdict.accepted for verdict in decision.of(theirs.id))
        assert verdict(decision, self.ours, named("a")).rule is DecidingRule.GRANT

    def test_a_grant_of_an_agents_id_is_none_of_its_endpoint(self):
        theirs = self.theirs("other")
        ownership = Ownership(grants=(Grant("other", "b", ClaimKind.AGENT),))

        for policy in (ClaimPolicy(), ClaimPolicy(strict_endpoints=True)):
            decision = decide([self.ours, theirs], ownership, policy=policy)
            assert all(verdict.accepted for verdict in decision.of(self.ours.id))

    def test_strictly_the_younger_loses_its_agent(self):
        theirs = self.theirs("other", insecure=True)

        decision = decide([self.ours, theirs], policy=ClaimPolicy(strict_endpoints=True))

        assert {verdict.reason for verdict in decision.of(theirs.id)} == {Reason.ENDPOINT_CONFLICT}
        assert not decide([self.ours, self.theirs("acme")], policy=ClaimPolicy(strict_endpoints=True)).dropped


class TestVersionsAndCanaries:
    first = published("first", "acme", content({"t": "a"}), age=2)
    second = published("second", "other", content({"t": "b"}), facts={"t": TaskTypeFacts(version=1)})
    canary = published("canary", "acme", content({"t": "c"}), canary=Canary("search", "staging"))

    def test_versions_are_told_apart_by_the_newest_dialect_alone(self):
        assert not decide([self.first, self.second], policy=V2).dropped
        assert decide([self.first, self.second]).dropped

    def test_a_canary_stands_beside_where_it_can_be_pinned(self):
        assert not decide([self.first, self.canary], policy=V2).dropped

    def test_a_canary_is_left_out_where_it_cannot(self):
        decision = decide([self.first, self.canary])

        assert {verdict.reason for verdict in decision.of(self.canary.id)} == {Reason.CANARY_UNSUPPORTED}
        assert all(verdict.accepted for verdict in decision.of(self.first.id))


class TestPolicies:
    both = (published("one", "acme", content({"t": "a"})), published("two", "other", content({"t": "b"})))

    def test_conflicts_can_be_flagged_for_review(self):
        decision = decide(self.both, policy=ClaimPolicy(flag=True))

        assert [review.claim.document.name for review in decision.reviews] == ["two"]
        assert verdict(decision, self.both[0], task("t")).accepted

    def test_two_that_come_first_at_once_can_both_be_rejected(self):
        policy = ClaimPolicy(tie_rule=TieRule.REJECT_BOTH)

        decision = decide(self.both, policy=policy)

        assert [drop.rule for drop in decision.dropped] == [DecidingRule.SIMULTANEOUS] * 2
        assert not decide(self.both[:1], policy=policy).dropped
        assert decide(
            self.both, Ownership(grants=(Grant("two", "t"), Grant("acme", "t"))), policy=policy
        ).accepted
        history = after(decide(self.both[:1], policy=policy))
        assert len(decide(self.both, history=history, policy=policy).dropped) == 1


def test_who_lost_to_a_stranger_learns_no_names():
    ours = published("ours", "acme", content({"t": "a"}), organisation="a")
    theirs = published("secret", "hidden", content({"t": "b"}), organisation="b", age=3)

    lost = verdict(decide([ours, theirs]), ours, task("t"))

    assert "secret" in redact_verdict(lost, "b").message
    assert redact_verdict(lost, "a").message == (
        "The task type t belongs to another organisation's document: its document is older."
    )
