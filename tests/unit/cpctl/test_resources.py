"""What cpctl decides about resources without a server: conditions to wait for, requests in files."""

from __future__ import annotations

import pytest

from cpctl.commands.resource_requests import Request, _contains, requests_in
from cpctl.errors import UsageError
from cpctl.resource_waits import STATES, Condition, condition
from registry.dispatch.lifecycle.states import ResourceState


def test_the_states_are_those_of_the_server():
    assert set(STATES) == {state.value for state in ResourceState}


@pytest.mark.parametrize(
    ("wanted", "lost_in"),
    [
        ("running", {"failed", "cancelling", "cancelled", "deleting", "deletion_failed", "deleted"}),
        ("deleted", {"deletion_failed"}),
        ("cancelled", {"failed", "deletion_failed", "deleted"}),
        ("deletion_failed", {"failed", "cancelled", "deleted"}),
    ],
)
def test_a_wait_ends_where_nothing_more_happens_by_itself(wanted, lost_in):
    awaited = condition(f"state={wanted}")

    assert {state for state in STATES if state != wanted and awaited.is_lost({"state": state})} == lost_in


def test_a_condition_is_about_a_field_that_exists():
    assert Condition("agent", "a1").is_met({"state": "running", "agent": "a1"})
    assert Condition("epoch", "2").is_met({"state": "running", "epoch": 2})
    with pytest.raises(UsageError, match="Unknown field 'agnet'"):
        Condition("agnet", "a1").is_met({"state": "running"})
    for wrong in ("running", "state=", "state=ready"):
        with pytest.raises(UsageError):
            condition(wrong)


def test_requests_are_read_from_files_with_their_ids(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "id: web-1\nservice_type: vm\nspec: {}\n---\nservice_type: vm\nspec: {}\n"
    )

    assert requests_in([str(tmp_path)]) == [
        Request("web-1", {"service_type": "vm", "spec": {}}),
        Request("", {"service_type": "vm", "spec": {}}),
    ]
    with pytest.raises(UsageError, match="2 documents"):
        requests_in([str(tmp_path)], "web-2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "must be an object"),
        ("id: a\nspec: {}\n---\nid: a\nspec: {}\n", "Several documents"),
        ("", "no document"),
        ("id: b\nspec: {}\n", "the id 'b'"),
    ],
)
def test_files_without_clear_requests_are_refused(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)

    with pytest.raises(UsageError, match=message):
        requests_in([str(tmp_path / "a.yaml")], "c" if "id: b" in text else "")


@pytest.mark.parametrize(
    ("value", "wanted", "same"),
    [
        ({"a": 1, "added": 2}, {"a": 1}, True),
        ({"a": {"b": 1, "added": 2}}, {"a": {"b": 1}}, True),
        ({"a": 1}, {"a": 2}, False),
        ([1, 2], [1], False),
        (None, "", True),
        (None, {"a": 1}, False),
    ],
)
def test_what_the_server_adds_to_a_request_is_no_difference(value, wanted, same):
    assert _contains(value, wanted) is same
