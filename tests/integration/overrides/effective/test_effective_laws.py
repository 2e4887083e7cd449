"""Laws of effective values on a real database, under random writes; the test keeps a history of its own.

`make nightly LANE=properties` looks at more histories.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from hypothesis import given, note
from hypothesis import strategies as st

from controlplane.errors import ControlplaneError, UnknownGuardRail, UnknownOverride
from controlplane.scopes import Level, Scope
from overrides.editing.guard_rails import GuardRailSpec, delete_rail, put_rail
from overrides.editing.writes import delete_override, patch_override, put_override
from overrides.effective.effective import effective_attributes, effective_many
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.loading.revisions import current_revision
from overrides.resolution.addresses import Address
from overrides.resource_types import BUILT_IN
from tests.support.api_client import ACTOR, make_project
from tests.support.properties import examples
from tests.support.reference_resolver import Layer, Rail, Reference, canonical

pytestmark = pytest.mark.django_db
some = examples(10, nightly=300)

SCOPES = [
    Scope(),
    Scope("development"),
    Scope("production"),
    Scope(project="p"),
    Scope(project="q"),
    Scope("development", "p"),
    Scope("production", "p"),
    Scope("production", "q"),
    Scope("production", "p", "w"),
    Scope("production", "q", "w"),
    Scope("production", "p", "w", "l"),
    Scope("production", "p", "w", "m"),
]


def maybe(**members: st.SearchStrategy) -> st.SearchStrategy:
    """An object with some or all of the members, of which any may be null."""
    one_in_four = st.sampled_from([False, False, False, True])
    values = {name: one_in_four.flatmap([member, st.none()].__getitem__) for name, member in members.items()}
    return st.fixed_dictionaries(values) | st.fixed_dictionaries({}, optional=values)


def named(key: str, names: list[str], **members: st.SearchStrategy) -> st.SearchStrategy:
    of_name = {key: st.sampled_from(names)}
    item = st.fixed_dictionaries(of_name, optional=members)
    removal = st.fixed_dictionaries({**of_name, "$remove": st.just(True)})
    return st.lists(item | removal, max_size=2, unique_by=lambda element: element[key])


_text = st.sampled_from(["a", "b"])
_amounts = maybe(cpu=st.sampled_from(["1", "2000m", "500m"]), memory=st.sampled_from(["1Gi", "500Mi"]))
ATTRIBUTES = {
    "task_resource": maybe(defaults=_amounts, limits=_amounts),
    "workflow_execution_config": maybe(
        max_parallelism=st.integers(0, 9),
        labels=maybe(values=maybe(team=_text, tier=_text)),
        envs=maybe(values=named("key", ["A", "B"], value=st.none() | _text)),
    ),
    "plugin_override": maybe(
        overrides=named("task_type", ["spark", "ray"], plugin_id=st.none() | st.lists(_text, max_size=2))
    ),
    "execution_queue": maybe(tags=st.lists(_text, max_size=2)),
}
RAILS = {
    "task_resource": [
        ("/limits/cpu", [{"maximum": "1"}, {"lock_below": "project"}]),
        ("/defaults", [{"lock_below": "project_domain"}]),
        ("/*/memory", [{"minimum": "1Gi"}, {"allowed": ["500Mi"], "lock_below": "workflow"}]),
    ],
    "workflow_execution_config": [
        ("/max_parallelism", [{"minimum": 2, "maximum": 5}, {"lock_below": "domain"}]),
        ("/envs/values", [{"lock_below": "project"}]),
        ("/envs/values/*/value", [{"allowed": ["a"]}, {"lock_below": "domain"}]),
        ("/labels/values/*", [{"allowed": ["b"]}]),
    ],
    "plugin_override": [("/overrides/*/plugin_id", [{"allowed": ["a"]}, {"lock_below": "project"}])],
    "execution_queue": [("/tags", [{"allowed": ["a"]}, {"lock_below": "project"}])],
}

# What stands: overrides by address, rails by name.
State = dict[Address | str, Any]


class Write(NamedTuple):
    kind: str
    at: Address | str
    content: Any = None

    def to_database(self) -> None:
        match self.kind:
            case "put":
                put_override(self.at, self.content, actor=ACTOR)
            case "patch":
                patch_override(self.at, self.content, actor=ACTOR)
            case "delete":
                delete_override(self.at, actor=ACTOR)
            case "put rail":
                put_rail(self.content, actor=ACTOR, accept_existing=True)
            case "delete rail":
                delete_rail(self.at, actor=ACTOR)

    def to_state(self, state: State) -> None:
        if self.kind.startswith("delete"):
            del state[self.at]
        else:
            state[self.at] = patched(state[self.at], self.content) if self.kind == "patch" else self.content


KINDS = ["put"] * 5 + ["patch", "patch", "delete", "put rail", "put rail", "delete rail"]


@st.composite
def histories(draw: Any) -> list[Write]:
    """Most writes are about one type and one ladder, and change what was put before: so they meet."""
    name = draw(st.sampled_from(sorted(ATTRIBUTES)))
    names, scopes = [name] * 4 + sorted(ATTRIBUTES), [*SCOPES, *SCOPES[-1].ladder(), *SCOPES[-1].ladder()]
    addresses = st.builds(Address, st.sampled_from(names), st.sampled_from(scopes))
    writes: list[Write] = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=14, max_size=24)):
        before = [write.at for write in writes if write.kind == "put"]
        if kind.endswith("rail"):
            writes.append(Write(kind, at := draw(st.sampled_from("ab")), draw(rails(at, names))))
            continue
        changes_one = kind != "put" and before and draw(st.sampled_from([True, True, True, False]))
        at = draw(st.sampled_from(before) if changes_one else addresses)
        writes.append(Write(kind, at, draw(ATTRIBUTES[at.resource_type])))
    return writes


@st.composite
def rails(draw: Any, name: str, names: list[str]) -> GuardRailSpec:
    resource_type, scope = draw(st.sampled_from(names)), draw(st.sampled_from(SCOPES[:5]))
    pointer, rules = draw(st.sampled_from(RAILS[resource_type]))
    return GuardRailSpec(name, scope, resource_type, pointer, draw(st.sampled_from(rules)))


def patched(document: Any, patch: Any) -> Any:
    """RFC 7396, as its section 2 has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


@contextmanager
def untouched() -> Iterator[None]:
    """Two projects, and nothing is left of what happens here."""
    with transaction.atomic():
        make_project("p")
        make_project("q")
        yield
        transaction.set_rollback(True)


def perform(operations: list[Write]) -> dict[int, State]:
    """Write, and keep what stood after each revision. What is refused leaves no trace."""
    state: State = {}
    history = {current_revision(): dict(state)}
    for operation in operations:
        before = current_revision()
        try:
            with transaction.atomic():
                operation.to_database()
        except ControlplaneError as error:
            is_unknown = isinstance(error, UnknownOverride | UnknownGuardRail)
            needs_one = operation.kind in ("patch", "delete", "delete rail")
            assert is_unknown == (needs_one and operation.at not in state)
            assert current_revision() == before
            continue
        operation.to_state(state)
        changes = canonical_of(state) != canonical_of(history[before])
        assert current_revision() == before + changes
        history[before + changes] = dict(state)
    return history


def canonical_of(state: State) -> str:
    return canonical(
        {str(at): value if isinstance(at, Address) else str(value) for at, value in state.items()}
    )


def reference_of(state: State, target: Scope, name: str) -> Reference:
    rule = BUILT_IN[name].rule
    layers = [
        Layer(tuple(at.scope.segments.values()), attributes)
        for at, attributes in state.items()
        if isinstance(at, Address) and at.resource_type == name
    ]
    rails = [
        rail for rail in state.values() if isinstance(rail, GuardRailSpec) and rail.resource_type == name
    ]
    rules = {path: f"merge_by_key:{key}" for path, key in rule.keyed_lists.items()}
    return Reference(
        layers,
        rule.strategy,
        rules,
        [reference_rail(rail) for rail in rails],
        tuple(target.segments.values()),
    )


def expected_leaves(reference: Reference) -> list[Any]:
    scopes = [Scope(*layer.scope) for layer in reference.layers]
    return [
        canonical(reference.attributes),
        {place: scopes[rank] for place, (rank, _) in reference.leaves.items()},
        {place: scopes[rank] for place, rank in reference.removed.items()},
        {(place, scopes[rank], rail) for rank, place, rail in reference.refused},
        {rail.name for rail in reference.rails},
    ]


def got(found: EffectiveType, reference: Reference) -> list[Any]:
    resolved = found.resolved

    def sources(leaves: Any) -> dict[tuple[str, ...], Scope]:
        return {reference.place_of(leaf.pointer, resolved.attributes): leaf.source.scope for leaf in leaves}

    return [
        canonical(resolved.attributes),
        sources(resolved.leaves),
        sources(resolved.removed),
        {
            (reference.place_of(refusal.pointer), refusal.source.scope, refusal.rail.name)
            for refusal in resolved.refused
        },
        {rail.name for rail in found.rails},
    ]


def reference_rail(rail: GuardRailSpec) -> Rail:
    rule = dict(rail.rule)
    if level := rule.get("lock_below"):
        rule["lock_below"] = int(Level[level.upper()])
    return Rail(rail.name, tuple(rail.scope.segments.values()), tuple(rail.pointer.split("/")[1:]), rule)


def leaves_of(effective: EffectiveAttributes) -> dict[str, Any]:
    return {
        effective_type.resource_type.name: (
            effective_type.resolved.attributes,
            {leaf.pointer: leaf.source for leaf in effective_type.resolved.leaves},
            effective_type.resolved.removed,
            effective_type.resolved.refused,
        )
        for effective_type in effective.types
    }


@some
@given(histories())
def test_each_revision_answers_as_a_replay_of_the_history(operations):
    note(f"{operations}")
    with untouched():
        for revision, state in perform(operations).items():
            for answer in effective_many(SCOPES, as_of=revision):
                references = {name: reference_of(state, answer.scope, name) for name in ATTRIBUTES}

                assert {
                    effective_type.resource_type.name: got(
                        effective_type, references[effective_type.resource_type.name]
                    )
                    for effective_type in answer.types
                } == {
                    name: expected_leaves(reference)
                    for name, reference in references.items()
                    if reference.layers
                }


@some
@given(histories())
def test_a_batch_answers_as_one_question_for_each_scope(operations):
    with untouched():
        perform(operations)

        batch = effective_many(SCOPES)

        assert batch == [effective_attributes(scope) for scope in SCOPES]
        for name in ATTRIBUTES:
            of_one_type = [answer.types for answer in effective_many(SCOPES, resource_type=name)]
            of_all = [
                [
                    effective_type
                    for effective_type in answer.types
                    if effective_type.resource_type.name == name
                ]
                for answer in batch
            ]
            assert [list(types) for types in of_one_type] == of_all


@some
@given(histories())
def test_the_last_revision_is_now(operations):
    with untouched():
        perform(operations)

        then, now = effective_many(SCOPES, as_of=current_revision()), effective_many(SCOPES)

        assert then == now


@some
@given(histories(), st.sampled_from(SCOPES[-4:]))
def test_a_scope_where_all_is_deleted_answers_as_the_scope_above_it(operations, scope):
    *_, above, _ = scope.ladder()
    # A rail at the scope itself would be heard there alone.
    operations = [
        operation
        for operation in operations
        if operation.kind != "put rail" or operation.content.scope != scope
    ]
    with untouched():
        history = perform(operations)
        for address in history[max(history)]:
            if isinstance(address, Address) and address.scope == scope:
                delete_override(address, actor=ACTOR)

        own_answer, inherited = effective_many([scope, above])

        assert leaves_of(own_answer) == leaves_of(inherited)


@some
@given(histories(), st.sampled_from(SCOPES), st.sampled_from(sorted(ATTRIBUTES)), st.data())
def test_what_is_set_and_deleted_again_leaves_everything_as_it_was(operations, scope, name, data):
    with untouched():
        last = perform(operations)
        address = Address(name, scope)
        if address in last[max(last)]:
            delete_override(address, actor=ACTOR)
        before = effective_many(SCOPES)
        try:
            with transaction.atomic():
                put_override(address, data.draw(ATTRIBUTES[name]), actor=ACTOR)
        except ControlplaneError:
            return
        delete_override(address, actor=ACTOR)

        after = effective_many(SCOPES)

        assert after == before
