"""Which documents a decision about one of them needs."""

from __future__ import annotations

from registry.agent_configs.claims.relations import claimable_names, find_related
from tests.support.agent_config_samples import agent, content, published


def names(found):
    return sorted(document.name for document in found)


def test_a_name_or_a_team_relates_over_any_number_of_steps():
    target = published("wanted", "acme", content({"t": "a"}))
    elsewhere = published("elsewhere", "other", content({"x": "y"}))
    documents = [
        published("rival", "beta", content({"t": "b"})),
        published("rivals-rival", "gamma", content({"u": "b"})),
        published("of-a-rivals-team", "gamma", content({"v": "c"})),
        published("same-team", "acme", content({"w": "d"})),
        elsewhere,
    ]

    assert names(find_related(documents, [target])) == [
        "of-a-rivals-team",
        "rival",
        "rivals-rival",
        "same-team",
    ]
    assert names(find_related(documents, [elsewhere])) == ["elsewhere"]


def test_an_endpoint_relates_in_whatever_capitals():
    document = published("one", "acme", content({"t": "a"}, {"a": agent("X.y:1")}))
    other = published("other", "beta", content({"u": "b"}, {"b": agent("x.y:1")}))

    assert names(find_related([other], [document])) == ["other"]


def test_names_are_those_that_a_claim_could_have():
    assert set(claimable_names([published("d", "acme", content({"t": "a"}))])) == {
        "t",
        "a",
        "acme--a",
        "a.svc:8000",
    }
