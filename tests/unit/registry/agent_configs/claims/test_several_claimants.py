"""Three documents and more: what only shows when several things happen to one name."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from registry.agent_configs.claims.decide import ClaimPolicy, decide
from registry.agent_configs.claims.grants import Grant, Ownership
from registry.agent_configs.claims.history import RememberedClaim
from registry.agent_configs.claims.observations import Subject
from registry.agent_configs.claims.verdicts import Reason
from registry.agent_configs.documents.published import ClaimKind, TaskTypeFacts
from tests.support.agent_config_samples import NOW, agent, content, named, published, task, verdict
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of
from tests.unit.registry.agent_configs.claims.test_decide import after


def test_an_old_claim_does_not_come_back_over_one_that_is_served():
    old = published("old", "acme", content({"t": "same"}), age=9)
    served = published("served", "other", content({"t": "mine"}))
    robber = published("robber", "third", content({"u": "same"}, {"same": agent("x.y:1")}))
    ownership = Ownership(grants=(Grant("third", "same", ClaimKind.AGENT),))

    history = after(decide([old, served], ownership))
    everybody = decide([old, served, robber], ownership, history)
    history = after(everybody, history)
    left = decide([old, served], ownership, history)

    assert verdict(everybody, old, named("same")).reason is Reason.AGENT_NAME_CONFLICT
    assert verdict(everybody, served, task("t")).accepted
    assert verdict(left, old, named("same")).accepted
    assert verdict(left, served, task("t")).accepted


def test_of_documents_that_share_a_claim_the_one_that_had_it_keeps_it():
    other_content = content({"t": "a"})
    holder, copy = (
        published("z-holder", "acme", other_content),
        published("a-copy", "acme", other_content, age=9),
    )
    history = after(decide([holder]))

    history = after(decide([holder, copy], history=history), history)

    assert history["acme", task("t")].document == holder.id
    changed = replace(copy, content=content({"t": "b"}))
    assert verdict(decide([holder, changed], history=history), holder, task("t")).accepted


def test_a_team_keeps_what_it_established_in_whatever_document():
    renamed = published("renamed", "acme", content({"t": "a"}))
    waiting = published("waiting", "other", content({"t": "b"}), age=9)
    history = {
        ("acme", task("t")): RememberedClaim(published("gone").id, NOW, established=True),
        ("other", task("t")): RememberedClaim(waiting.id, NOW - timedelta(hours=1)),
    }

    assert verdict(decide([renamed, waiting], history=history), renamed, task("t")).accepted


def test_a_document_that_lost_its_agent_does_not_use_its_teams_other_one():
    first = published("first", "acme", content({"t": "a"}), age=9)
    second = published("second", "acme", content({"u": "a"}, {"a": agent("x.y:1")}))
    third = published("third", "acme", content({"v": "a"}, {}))

    decision = decide([first, second, third])

    assert verdict(decision, second, task("u")).reason is Reason.AGENT_NAME_CONFLICT
    assert verdict(decision, third, task("v")).accepted


def test_a_shared_task_type_is_sync_if_anybody_knows_it():
    other_content = content({"t": "a"})
    knowing = published("knowing", "acme", other_content, facts={"t": TaskTypeFacts(is_sync=True)})

    assert bundle_of(published("first", "acme", other_content, age=9), knowing).mappings == {}


def test_teams_that_may_not_share_an_endpoint_may_not_by_saying_the_same():
    other_content = content({"t": "a"})
    first, second = (
        published("first", "acme", other_content, age=9),
        published("second", "other", other_content),
    )

    strict = decide([first, second], policy=ClaimPolicy(strict_endpoints=True))

    assert verdict(strict, second, named("a")).reason is Reason.ENDPOINT_CONFLICT
    assert verdict(strict, first, named("a")).accepted


def test_of_several_with_one_endpoint_the_one_that_differs_is_told():
    documents = [
        published(name, "acme", content({name: name}, {name: agent("x.y:1", insecure=insecure)}))
        for name, insecure in (("a", False), ("b", False), ("c", True))
    ]

    observations = {
        observation.document.name: (observation.subject, observation.other.name)
        for observation in decide(documents).observations
    }

    assert observations == {
        "a": (Subject.ENDPOINT_SETTINGS_MISMATCH, "c"),
        "b": (Subject.ENDPOINT_SETTINGS_MISMATCH, "c"),
        "c": (Subject.ENDPOINT_SETTINGS_MISMATCH, "a"),
    }
