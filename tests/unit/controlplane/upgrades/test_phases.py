"""Which migrations run in a phase, and which processes are in the way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.members.versions import is_contract
from controlplane.upgrades.phases import Phase, Running, Step, plan, refusal, users_of

ADD = Step(("registry", "0011_add"))
DROP = Step(("registry", "0012_contract_old"), Phase.CONTRACT, "0.2.0", frozenset({ADD.key}))
AFTER = Step(("registry", "0013_after"), needs=frozenset({DROP.key}))
OTHER = Step(("pools", "0002_other"))
STEPS = [ADD, DROP, AFTER, OTHER]
OLD, NEW = Running("web a-1", "0.1.4"), Running("web a-2", "0.2.0")


def test_without_older_processes_everything_runs():
    decision = plan(STEPS, [NEW])
    assert list(decision.run) == [step.key for step in STEPS]
    assert (decision.waits, decision.in_the_way) == ([], {})


def test_an_older_process_keeps_a_drop_waiting_and_what_needs_it():
    decision = plan(STEPS, [OLD, NEW])
    assert decision.run == [ADD.key, OTHER.key]
    assert decision.waits == [DROP.key, AFTER.key]
    assert decision.in_the_way == {DROP.key: [OLD]}


def test_expand_drops_nothing_even_if_nobody_is_in_the_way():
    decision = plan(STEPS, [], expand_only=True)
    assert decision.run == [ADD.key, OTHER.key]
    assert decision.in_the_way == {}


def test_a_process_of_an_unreadable_version_is_in_nobodys_way():
    assert users_of(DROP, [Running("web", "dev")]) == []


def test_a_refusal_names_the_migration_the_processes_and_what_to_do():
    users = [Running(f"web a-{number}", "0.1.4") for number in range(7)]
    text = refusal({DROP.key: users, ("pools", "0009_contract_more"): users})
    assert "registry.0012_contract_old" in text
    assert "web a-0 (0.1.4)" in text
    assert "and 2 more" in text
    assert "1 other migration" in text
    assert "Update or stop them" in text


def test_contracting_migrations_are_known_by_their_names():
    assert is_contract("0012_contract_old")
    assert not is_contract("0012_contracts")


versions = st.builds("{}.{}.{}".format, *[st.integers(0, 3)] * 3)


@given(st.lists(st.builds(Running, st.just("web"), versions), max_size=5), st.booleans())
def test_what_runs_never_needs_what_waits_and_nothing_is_forgotten(
    processes: list[Running], expand_only: bool
):
    decision = plan(STEPS, processes, expand_only=expand_only)
    assert {*decision.run, *decision.waits} == {step.key for step in STEPS}
    assert not any(step.needs.intersection(decision.waits) for step in STEPS if step.key in decision.run)
    assert (DROP.key in decision.run) == (not expand_only and not users_of(DROP, processes))
