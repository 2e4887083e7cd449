"""ETags of objects that have no version."""

from __future__ import annotations

from django.utils import timezone

from registry.models import Agent
from tests.support.api_client import AGENT


def test_an_agent_is_read_again_only_if_it_changed(api):
    path = f"agents/{api.post('agents', AGENT).json()['agent_id']}"
    first = api.get(path)

    same = api.get(path, If_None_Match=first["ETag"])
    Agent.objects.update(drain_reason="maintenance", state_since=timezone.now())
    changed = api.get(path, If_None_Match=first["ETag"])

    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    assert (changed.status_code, changed["ETag"] != first["ETag"]) == (200, True)
    assert first["Cache-Control"] == "private, no-cache"


def test_lists_errors_and_changes_have_no_tag_of_their_content(api):
    agent = api.post("agents", AGENT)

    assert not agent.has_header("ETag")
    assert not api.get("agents").has_header("ETag")
    assert not api.get("agents/00000000-0000-0000-0000-000000000000").has_header("ETag")


def test_a_copy_of_somebody_else_is_never_current(api):
    path = f"agents/{api.post('agents', AGENT).json()['agent_id']}"

    assert api.get(path, If_None_Match='"c00000000000000000000"').status_code == 200
    assert api.get(path, If_None_Match="*").status_code == 304
