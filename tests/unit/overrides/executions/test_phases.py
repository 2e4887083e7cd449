"""Which phases may follow, against a copy of FlyteAdmin's conditions in its own order."""

from __future__ import annotations

from itertools import product

import pytest
from flyteidl.core import execution_pb2

from overrides.executions.phases import Refusal, Subject, is_terminal, refusal

KINDS = {
    Subject.WORKFLOW: execution_pb2.WorkflowExecution.Phase,
    Subject.NODE: execution_pb2.NodeExecution.Phase,
    Subject.TASK: execution_pb2.TaskExecution.Phase,
}
# Upstream's maps terminalExecutionPhases, terminalNodeExecutionPhases and terminalTaskExecutionPhases.
NOT_TERMINAL = {
    Subject.WORKFLOW: {"UNDEFINED", "QUEUED", "RUNNING", "SUCCEEDING", "FAILING", "ABORTING"},
    Subject.NODE: {"UNDEFINED", "QUEUED", "RUNNING", "FAILING", "DYNAMIC_RUNNING"},
    Subject.TASK: {
        *("UNDEFINED", "QUEUED", "RUNNING", "INITIALIZING", "WAITING_FOR_RESOURCES", "RETRYABLE_FAILED"),
    },
}


@pytest.mark.parametrize("subject", Subject)
def test_every_phase_is_terminal_or_not_as_upstream_has_it(subject):
    phases = KINDS[subject].keys()

    assert {phase for phase in phases if not is_terminal(subject, phase)} == NOT_TERMINAL[subject]


def upstream_workflow(before: str, phase: str) -> Refusal | None:
    """ExecutionManager.CreateWorkflowEvent, in its order."""
    if phase != "QUEUED" and before == phase:
        return Refusal.RECORDED
    if before not in NOT_TERMINAL[Subject.WORKFLOW]:
        return Refusal.TERMINAL
    if before == "RUNNING" and phase == "QUEUED":
        return Refusal.BACKWARDS
    if before == "ABORTING" and phase in NOT_TERMINAL[Subject.WORKFLOW]:
        return Refusal.ABORTING
    return None


def test_every_pair_of_phases_of_a_workflow():
    phases = KINDS[Subject.WORKFLOW].keys()
    for before, phase in product(phases, phases):
        expected = upstream_workflow(before, phase)
        assert refusal(Subject.WORKFLOW, before, phase) == expected, (before, phase)


def test_every_pair_of_phases_of_nodes_and_tasks():
    for subject in (Subject.NODE, Subject.TASK):
        phases = KINDS[subject].keys()
        for before, phase in product(phases, phases):
            ends = before not in NOT_TERMINAL[subject]
            expected = Refusal.RECORDED if before == phase else Refusal.TERMINAL if ends else None
            assert refusal(subject, before, phase) == expected, (before, phase)


def test_a_version_of_a_task_phase_rises_until_the_task_ends():
    def versions(before: int, version: int, phase: str = "RUNNING") -> Refusal | None:
        return refusal(Subject.TASK, phase, phase, version_before=before, version=version)

    assert [versions(1, version) for version in (0, 1, 2)] == [Refusal.RECORDED, Refusal.RECORDED, None]
    assert versions(1, 2, "FAILED") is Refusal.TERMINAL


def test_a_first_event_counts_whatever_it_says():
    assert refusal(Subject.NODE, None, "SUCCEEDED") is None
    assert refusal(Subject.TASK, None, "FAILED") is None
    # Executions begin with this phase.
    assert refusal(Subject.WORKFLOW, None, "UNDEFINED") is Refusal.RECORDED
