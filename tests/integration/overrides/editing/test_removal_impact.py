"""What would change without a value, and which version set it."""

from __future__ import annotations

import pytest

from controlplane.access.models import AuditRecord
from controlplane.scopes import Scope
from overrides.editing.guard_rails import GuardRailSpec, put_rail
from overrides.editing.plans import Difference
from overrides.editing.removal_impact import removal_impact
from overrides.editing.writes import delete_override, get_override, put_override
from overrides.history.history import version_that_set
from overrides.models import OverrideVersion, RevisionCounter
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT, NamedStep
from tests.support.api_client import ACTOR, make_project

KIND = "workflow_execution_config"
ABOVE, HERE = Scope(project="flytesnacks"), Scope("development", "flytesnacks")
CPU = ("limits", "cpu")


@pytest.fixture(autouse=True)
def project(db):
    make_project()


def put(scope, attributes, kind=KIND):
    put_override(Address(kind, scope), attributes, actor=ACTOR)


def rows():
    return (
        OverrideVersion.objects.count(),
        AuditRecord.objects.count(),
        RevisionCounter.objects.get().revision,
    )


def test_the_value_of_the_level_above_applies_where_nothing_else_is_set():
    put(ABOVE, {"max_parallelism": 5})
    put(HERE, {"max_parallelism": 7, "interruptible": True})
    put(Scope("development", "flytesnacks", "own"), {"max_parallelism": 9})
    before = rows()

    impact = removal_impact(Address(KIND, HERE), ("max_parallelism",), HERE)

    assert (impact.affected, impact.is_last, impact.errors) == (1, False, ())
    (change,) = impact.effective
    assert (change.scope, change.differences) == (HERE, (Difference("/max_parallelism", 7, 5),))
    assert rows() == before
    assert get_override(Address(KIND, HERE)).attributes["max_parallelism"] == 7


def test_the_last_value_of_an_override_removes_it_and_every_scope_below_is_counted():
    put(ABOVE, {"max_parallelism": 5})

    impact = removal_impact(Address(KIND, ABOVE), ("max_parallelism",), ABOVE)

    assert impact.is_last
    scopes = {change.scope for change in impact.effective}
    assert {ABOVE, HERE} <= scopes
    assert impact.affected == len(scopes)
    assert {change.differences for change in impact.effective} == {
        (Difference("/max_parallelism", 5, ABSENT),)
    }


@pytest.mark.parametrize(
    "path", [("interruptible",), ("labels", "values"), ("envs", "values", NamedStep("key", "A"))]
)
def test_what_is_not_set_changes_nothing(path):
    put(HERE, {"max_parallelism": 7})

    impact = removal_impact(Address(KIND, HERE), path, HERE)
    nowhere = removal_impact(Address(KIND, ABOVE), path, HERE)

    for each in (impact, nowhere):
        assert (each.affected, each.effective, each.here.differences, each.is_last) == (0, (), (), False)


def test_a_scope_below_that_sets_nothing_follows_and_one_that_sets_the_value_does_not():
    put(ABOVE, {"max_parallelism": 5})
    put(HERE, {"max_parallelism": 7})
    own, other = (Scope("development", "flytesnacks", name) for name in ("own", "other"))
    put(own, {"max_parallelism": 9})

    impacts = [removal_impact(Address(KIND, HERE), ("max_parallelism",), scope) for scope in (other, own)]

    assert [impact.here.differences for impact in impacts] == [(Difference("/max_parallelism", 7, 5),), ()]
    assert {impact.affected for impact in impacts} == {1}


def test_a_guard_rail_still_holds_without_the_value():
    put(ABOVE, {"max_parallelism": 50})
    put(HERE, {"max_parallelism": 7})
    rail = GuardRailSpec("cap", ABOVE, KIND, "/max_parallelism", {"maximum": 10})
    put_rail(rail, actor=ACTOR, accept_existing=True)

    impact = removal_impact(Address(KIND, HERE), ("max_parallelism",), HERE)

    assert impact.here.differences == (Difference("/max_parallelism", 7, ABSENT),)
    assert impact.effective == (impact.here,)


def test_a_removal_that_makes_values_contradict_each_other_is_no_refusal_but_a_problem():
    put(ABOVE, {"limits": {"cpu": "2"}}, "task_resource")
    put(HERE, {"limits": {"cpu": "8"}, "defaults": {"cpu": "6"}}, "task_resource")

    impact = removal_impact(Address("task_resource", HERE), CPU, HERE)

    assert [error.code for error in impact.errors] == ["limit_below_default"]
    assert impact.affected == 1


def test_the_version_that_set_a_value_is_the_first_of_those_that_have_it_now():
    address = Address("task_resource", HERE)
    for limits in ({"cpu": "1"}, {"cpu": "2"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}):
        put(HERE, {"limits": limits}, "task_resource")

    assert [version_that_set(address, ("limits", name)).version for name in ("cpu", "memory")] == [2, 4]
    assert version_that_set(address, ("limits",)).version == 4
    assert version_that_set(address, ("limits", "gpu")) is None
    assert version_that_set(Address("task_resource", ABOVE), CPU) is None


def test_a_value_that_was_deleted_and_set_again_is_of_the_later_version(monkeypatch):
    monkeypatch.setattr("overrides.history.history._STEP", 2)
    address = Address("task_resource", HERE)
    put(HERE, {"limits": {"cpu": "1"}}, "task_resource")
    delete_override(address, actor=ACTOR)
    for memory in ("1Gi", "2Gi", "3Gi", "4Gi"):
        put(HERE, {"limits": {"cpu": "1", "memory": memory}}, "task_resource")

    assert version_that_set(address, CPU).version == 3
    delete_override(address, actor=ACTOR)
    assert version_that_set(address, CPU) is None
