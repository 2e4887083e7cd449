"""Whom a change touches: compared with looking everywhere in a small universe."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from controlplane.scopes import Level, Scope
from overrides.editing.impact import Comparison, TypeRules, targets_of
from overrides.resolution.merging import MergeRule, Strategy, canonical
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, values_only
from overrides.resource_types import BUILT_IN
from overrides.resource_types.catalogue import Catalogue, RuleChange

TASKS = BUILT_IN["task_resource"]
DOMAINS, PROJECTS, WORKFLOWS, PLANS = ("d", "e"), ("p", "q"), ("w", "v"), ("l", "m")
PAIRS = [Scope(domain, project) for domain in DOMAINS for project in PROJECTS]
# Every scope that there can be, with names that nobody has set anything for among them.
UNIVERSE = [
    Scope(),
    *(Scope(domain) for domain in DOMAINS),
    *(Scope(project=project) for project in PROJECTS),
    *PAIRS,
    *(Scope(pair.domain, pair.project, workflow) for pair in PAIRS for workflow in WORKFLOWS),
    *(
        Scope(pair.domain, pair.project, workflow, plan)
        for pair in PAIRS
        for workflow in WORKFLOWS
        for plan in PLANS
    ),
]
# Where workflows run: everything at or below a registered project in a domain.
RUNS = [scope for scope in UNIVERSE if scope.level >= Level.PROJECT_DOMAIN]

_amount = st.sampled_from(["1", "2", "1000m", "3", None])
_amounts = st.none() | st.fixed_dictionaries({}, optional={"cpu": _amount, "memory": _amount})
documents = st.fixed_dictionaries({}, optional={"defaults": _amounts, "limits": _amounts})
scopes = st.sampled_from(UNIVERSE)
tables = st.dictionaries(scopes, documents, max_size=6)
rules = st.builds(
    lambda pointer, scope, bound: GuardRail(
        name=f"{pointer}{scope}{bound}", scope=scope, resource_type=TASKS.name, path=pointer, maximum=bound
    ),
    st.sampled_from([("limits", "cpu"), ("defaults", "cpu"), ("*", "memory")]),
    st.sampled_from(UNIVERSE[:9]),
    st.sampled_from(["1", "2"]),
)
rails = st.lists(rules, max_size=2, unique_by=lambda rail: rail.name)
defaults = st.lists(
    st.builds(
        lambda scope, document: Layer(scope, document, is_default=True),
        st.sampled_from(UNIVERSE[:3]),
        documents,
    ),
    max_size=2,
)


@st.composite
def changes(draw: Any) -> tuple[dict[Scope, Any], dict[Scope, Any]]:
    """What is set before and after: some scopes get, lose or change a document."""
    before = draw(tables)
    after = {**before, **draw(tables)}
    for gone in draw(st.lists(st.sampled_from(sorted(after, key=str)), max_size=2)) if after else ():
        after.pop(gone, None)
    return before, after


def changed(before: dict[Scope, Any], after: dict[Scope, Any]) -> set[Scope]:
    return {
        scope
        for scope in {*before, *after}
        if scope not in before or scope not in after or canonical(before[scope]) != canonical(after[scope])
    }


def targets(before: dict[Scope, Any], after: dict[Scope, Any]) -> set[Scope]:
    return targets_of(changed(before, after), [*before, *after], PAIRS)


def resolved(rows: dict[Scope, Any], target: Scope, rule: MergeRule = TASKS.rule, **more: Any) -> str:
    layers = [*more.get("defaults", ()), *(Layer(scope, document) for scope, document in rows.items())]
    return canonical(values_only(target, layers, rule, more.get("rails", ())))


def texts(rows: dict[Scope, Any]) -> dict[Scope, str]:
    return {scope: canonical(document) for scope, document in rows.items()}


merge_rules = st.sampled_from([TASKS.rule, MergeRule(Strategy.REPLACE)])


@given(changes(), merge_rules)
def test_every_scope_that_has_a_row_or_is_registered_and_differs_is_a_target(change, rule):
    before, after = change

    scopes_found = targets(before, after)

    for scope in {*before, *after, *PAIRS}:
        if resolved(before, scope, rule) != resolved(after, scope, rule):
            assert scope in scopes_found


@given(changes(), defaults)
def test_wherever_workflows_run_a_difference_is_one_that_some_target_shows(change, layers):
    """A scope that is no target resolves to what a target around it resolves to, before and after."""
    before, after = change
    scopes_found = targets(before, after)

    for scope in RUNS:
        was, is_now = (resolved(rows, scope, defaults=layers) for rows in (before, after))
        if was != is_now:
            covering = [scope_above for scope_above in scope.ladder() if scope_above in scopes_found]
            assert (was, is_now) in [
                (
                    resolved(before, scope_above, defaults=layers),
                    resolved(after, scope_above, defaults=layers),
                )
                for scope_above in covering
            ]


@given(changes())
def test_no_target_is_out_of_reach_of_what_changed(change):
    moved = changed(*change)

    for scope in targets(*change):
        assert any(move.covers(scope) for move in moved)


@given(changes(), rails, defaults)
def test_affected_is_what_comparing_the_values_everywhere_finds(change, guards, layers):
    before, after = change
    comparison = Comparison(texts(before), texts(after), TypeRules(TASKS, guards, layers))

    affected = {
        effect.scope: (canonical(effect.before), canonical(effect.after))
        for effect in comparison.affected(UNIVERSE)
    }

    expected = {}
    for scope in UNIVERSE:
        pair = tuple(resolved(rows, scope, rails=guards, defaults=layers) for rows in (before, after))
        if pair[0] != pair[1]:
            expected[scope] = pair
    event(f"differs at {min(len(expected), 5)}")
    assert affected == expected


@given(changes(), merge_rules)
def test_types_that_are_always_valid_are_compared_alike(change, rule):
    always_valid = dataclasses.replace(TASKS, checks=(), resolved_schema=None, rule=rule)
    before, after = change
    rules = TypeRules(always_valid)

    affected = Comparison(texts(before), texts(after), rules).affected(UNIVERSE)

    assert rules.is_plain
    assert {effect.scope: (canonical(effect.before), canonical(effect.after)) for effect in affected} == {
        scope: pair
        for scope in UNIVERSE
        if (pair := tuple(resolved(rows, scope, rule) for rows in change))[0] != pair[1]
    }


@given(changes(), rails, rails, defaults)
def test_changed_rules_are_measured_as_comparing_the_values_everywhere_finds(change, was, now, layers):
    """Rails, the merge rule and rows change in one transaction."""
    before, after = change
    replacing = dataclasses.replace(TASKS, rule=MergeRule(Strategy.REPLACE))
    earlier, rules = TypeRules(TASKS, was, layers), TypeRules(replacing, now, layers)

    affected = {
        effect.scope: (canonical(effect.before), canonical(effect.after))
        for effect in Comparison(texts(before), texts(after), rules, earlier).affected(UNIVERSE)
        if canonical(effect.before) != canonical(effect.after)
    }

    expected = {}
    for scope in UNIVERSE:
        first = resolved(before, scope, rails=was, defaults=layers)
        second = resolved(after, scope, replacing.rule, rails=now, defaults=layers)
        if first != second:
            expected[scope] = (first, second)
    assert affected == expected


@given(tables, rails, rails)
def test_only_rails_that_differ_count_as_changed_and_reach_all_that_they_govern(rows, was, now):
    types = {TASKS.name: TASKS}
    change = RuleChange(Catalogue(types, tuple(was)), Catalogue(types, tuple(now)))

    scopes = change.scopes_by_type().get(TASKS.name, set())

    assert {rail.name for rail in change.changed_rails()} == {rail.name for rail in now if rail not in was}
    for scope in UNIVERSE:
        if resolved(rows, scope, rails=was) != resolved(rows, scope, rails=now):
            assert any(root.covers(scope) for root in scopes)


@given(changes(), rails)
def test_errors_are_told_where_they_are_new_and_nowhere_else(change, guards):
    before, after = change
    comparison = Comparison(texts(before), texts(after), TypeRules(TASKS, guards))

    for effect in comparison.affected(UNIVERSE):
        was, is_now = (json.loads(resolved(rows, effect.scope, rails=guards)) for rows in change)
        stood = {error.pointer for error in TASKS.resolved_errors(was)}
        assert {error.pointer for error in effect.errors} == {
            error.pointer for error in TASKS.resolved_errors(is_now) if error.pointer not in stood
        }


def test_a_row_of_a_domain_and_one_of_a_project_meet_where_nothing_is_set():
    before = {Scope(domain="d"): {"defaults": {"cpu": "4"}}}
    after = {**before, Scope(project="p"): {"limits": {"cpu": "2"}}}
    comparison = Comparison(texts(before), texts(after), TypeRules(TASKS))

    wrong = [effect.scope for effect in comparison.affected(targets(before, after)) if effect.errors]

    assert wrong == [Scope("d", "p")]


def test_a_change_of_everything_touches_every_row_and_every_pair():
    rows = [Scope(project="q"), Scope("d", "p", "w"), Scope("x", "unregistered")]

    assert targets_of({Scope()}, rows, PAIRS) == {Scope(), *rows, *PAIRS}


def test_a_change_of_a_workflow_touches_its_launch_plans_only():
    here = Scope("d", "p", "w")
    rows = [Scope("d", "p", "w", "l"), Scope("d", "p", "v", "l"), Scope("e", "p", "w", "l"), Scope("d", "p")]

    assert targets_of({here}, [here, *rows], []) == {here, rows[0]}


def test_a_scope_that_resolves_to_nothing_is_never_wrong():
    resource_type = BUILT_IN["task_resource"]
    rows = {Scope(): {"defaults": {"cpu": "2"}, "limits": {"cpu": "2"}}}

    (effect,) = Comparison(texts(rows), {}, TypeRules(resource_type)).affected([Scope()])

    assert (effect.after, effect.errors) == ({}, ())
