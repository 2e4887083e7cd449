"""States and ids of operations, and the preference to wait."""

from __future__ import annotations

import pytest

from registry.bulk_changes.decisions import BulkState
from registry.dispatch.lifecycle.states import ResourceState
from registry.operations.decisions import (
    Kind,
    OperationState,
    bulk_change_state,
    operation_id,
    preferred_wait,
    read_operation_id,
    replay_state,
    resource_state,
    resource_states,
)


@pytest.mark.parametrize(
    ("state", "settled", "failed", "expected"),
    [
        (BulkState.RUNNING, 0, 0, "pending"),
        (BulkState.RUNNING, 1, 0, "running"),
        (BulkState.UNDOING, 0, 0, "running"),
        (BulkState.DONE, 2, 0, "succeeded"),
        (BulkState.DONE, 2, 1, "failed"),
        (BulkState.STOPPED, 1, 0, "failed"),
        (BulkState.CANCELLED, 1, 1, "cancelled"),
        (BulkState.UNDONE, 2, 1, "succeeded"),
    ],
)
def test_a_bulk_change_with_failed_agents_has_failed(state, settled, failed, expected):
    assert bulk_change_state(state, settled=settled, failed=failed) == expected


def test_every_state_of_a_resource_is_selected_by_the_state_of_its_operation():
    for state in ResourceState:
        selected = [shown for shown in OperationState if state.value in resource_states(shown)]

        assert selected == [resource_state(state)]


def test_a_replay_of_a_paused_sink_is_pending():
    assert replay_state(is_ended=False, is_active=False) == "pending"
    assert replay_state(is_ended=False, is_active=True) == "running"
    assert replay_state(is_ended=True, is_active=False) == "succeeded"


@pytest.mark.parametrize("kind", Kind)
def test_an_id_is_read_as_it_was_written(kind):
    assert read_operation_id(operation_id(kind, "a.b")) == (kind, "a.b")


@pytest.mark.parametrize("text", ["", ".", "resource", "resource.", "job.1", "Resource.x"])
def test_other_ids_are_nobodys(text):
    assert read_operation_id(text) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("wait=10", 10),
        ("respond-async, wait=7", 7),
        ("Wait = 3; foo", 3),
        ("wait=31", 30),
        ("wait=999999999", 30),
        ("", 0),
        ("wait", 0),
        ("wait=-1", 0),
        ("wait=x", 0),
        ("wait=1e3", 0),
        ("await=5", 0),
        ("wait=99999999999999999999", 0),
    ],
)
def test_what_cannot_be_read_as_a_wait_is_ignored(header, seconds):
    assert preferred_wait(header) == seconds
