"""Profiles of service types: statuses, the place of the id, the envelope, and errors of the setting."""

from __future__ import annotations

import pytest

from registry.dispatch.lifecycle.answer_cases import StatusClass
from registry.dispatch.lifecycle.service_types import Profile, classify_status, parse_profiles, spec_to_send

POINTER = "/metadata/labels/dcm.project~1dcm-instance-id"


@pytest.mark.parametrize(
    ("service_type", "status", "meaning"),
    [
        ("container", "RUNNING", StatusClass.LIVE),
        ("container", "succeeded", StatusClass.LIVE),
        ("network", "READY", StatusClass.LIVE),
        ("cluster", "ACTIVE", StatusClass.LIVE),
        ("cluster", "DEGRADED", StatusClass.LIVE),
        ("vm", "STOPPED", StatusClass.LIVE),
        ("storage", "DELETED", StatusClass.GONE),
        ("container", "UNKNOWN", None),
        ("widget", "RUNNING", StatusClass.LIVE),
        ("widget", "BURNT", StatusClass.FAILED),
        ("widget", "Failed", StatusClass.PROGRESSING),
    ],
)
def test_what_a_status_means(service_type: str, status: str, meaning: StatusClass | None) -> None:
    profiles = parse_profiles('{"widget": {"statuses": {"burnt": "failed", "FAILED": "progressing"}}}')
    assert classify_status(service_type, status, profiles) is meaning


def test_the_id_is_put_where_the_profile_says() -> None:
    profiles = {"container": Profile(id_pointer=POINTER, envelope="spec")}
    spec = {"image": "nginx", "metadata": {"labels": {"a": "b"}}}
    labels = {"a": "b", "dcm.project/dcm-instance-id": "web"}
    sent = {"spec": {"image": "nginx", "metadata": {"labels": labels}}}
    assert spec_to_send("container", spec, "web", profiles) == sent
    assert spec == {"image": "nginx", "metadata": {"labels": {"a": "b"}}}
    assert spec_to_send("container", {}, "web", {"container": Profile(id_pointer="/a/b")}) == {
        "a": {"b": "web"}
    }
    assert spec_to_send("vm", spec, "web", profiles) == spec


def test_an_id_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="is put at 'b' of an object, and there is none"):
        spec_to_send("container", {"a": 1}, "web", {"container": Profile(id_pointer="/a/b")})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{", "it is not JSON"),
        ("[]", "must be an object by service type"),
        ('{"vm": {"state": {}}}', "'vm' must be an object with statuses, id_pointer or envelope"),
        ('{"vm": {"statuses": {"OK": "fine"}}}', "one of progressing, live, failed, gone"),
        ('{"vm": {"id_pointer": "id"}}', "must be a JSON pointer"),
        ('{"vm": {"envelope": "box"}}', 'must be "bare" or "spec"'),
        ('{"vm": {"statuses": {"OK": []}}}', "must map each status"),
    ],
)
def test_an_invalid_setting_says_what_is_wrong(raw: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_profiles(raw)
