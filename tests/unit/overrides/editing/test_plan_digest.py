"""The digest of a plan: equal for equal effects in any order, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controlplane.scopes import Scope
from overrides.editing.confirmation import digest_of
from overrides.editing.draft import Draft
from overrides.editing.impact import AffectedScope
from overrides.editing.plan_digest import digest_parts
from overrides.loading.current import CurrentOverride
from overrides.resolution.addresses import Address
from overrides.resource_types import BUILT_IN

WEC = BUILT_IN["workflow_execution_config"]
ADDRESS = Address(WEC.name, Scope("production"))
values = st.fixed_dictionaries(
    {}, optional={"max_parallelism": st.integers(1, 3), "x": st.sampled_from("ab")}
)
scopes = st.builds(Scope, st.just("production"), st.sampled_from(["", "a", "b", "c"]))
effects = st.lists(
    st.builds(AffectedScope, scopes, st.just(WEC), values, values, st.just(())),
    max_size=4,
    unique_by=lambda effect: effect.scope,
)
drafts = st.builds(
    lambda version, before, after: Draft(CurrentOverride(ADDRESS, before, version=version), after, {}),
    st.integers(0, 3),
    st.none() | values,
    st.none() | values,
)


def digest(draft: Draft, affected: list[AffectedScope]) -> str:
    return digest_of(digest_parts(draft, affected))


def shown(draft: Draft, affected: list[AffectedScope]) -> object:
    """What a reviewer sees: the base version, the document after, and all effective values."""
    by_scope = {str(effect.scope): (effect.before, effect.after) for effect in affected}
    return (draft.current.version, draft.after, by_scope)


@given(drafts, effects, st.randoms())
def test_the_order_of_scopes_does_not_matter(draft, affected, random):
    shuffled = random.sample(affected, len(affected))
    assert digest(draft, affected) == digest(draft, shuffled)


@given(drafts, effects, drafts, effects)
def test_plans_have_one_digest_exactly_if_they_show_the_same(draft, affected, other, other_affected):
    is_same = shown(draft, affected) == shown(other, other_affected)
    assert (digest(draft, affected) == digest(other, other_affected)) is is_same


@given(drafts, effects.filter(bool), st.data())
def test_any_change_of_one_effective_value_is_another_plan(draft, affected, data):
    number = data.draw(st.integers(0, len(affected) - 1))
    name = data.draw(st.sampled_from(["before", "after"]))
    other = list(affected)
    other[number] = replace(affected[number], **{name: {"max_parallelism": 99}})

    assert digest(draft, affected) != digest(draft, other)


def test_the_version_and_the_managers_are_in_it():
    draft = Draft(CurrentOverride(ADDRESS, None, version=1), {"max_parallelism": 1}, {})
    other = replace(draft, current=replace(draft.current, version=2))
    managed = replace(draft, owners={"/max_parallelism": ["git"]})

    assert len({digest(draft, []), digest(other, []), digest(managed, [])}) == 3
