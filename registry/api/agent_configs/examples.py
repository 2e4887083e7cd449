"""Examples for openapi.yaml, with the team acme and the data plane eu-1."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

from controlplane.api.bodies import MEDIA_TYPE

_TIMESTAMP = "2026-11-21T09:30:00Z"
_SHA = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
TEXT = (
    "plugins:\n  agent-service:\n    agents:\n      acme-sensor:\n"
    "        endpoint: acme-sensor.acme.svc.cluster.local:8000\n        insecure: true\n"
    "    supportedTaskTypes:\n    - acme_sensor\n"
)
_NAME = {"source": "api", "team": "acme", "name": "sensors"}
_SUMMARY = {
    **_NAME,
    "generation": 1,
    "served_generation": 1,
    "valid": True,
    "digest": _SHA,
    "created_at": _TIMESTAMP,
    "changed_at": _TIMESTAMP,
    "changed_by": "acme-ci",
}
_CONDITION = {
    "type": "Accepted",
    "status": "True",
    "reason": "Accepted",
    "message": "",
    "observed_generation": 1,
    "last_transition_at": _TIMESTAMP,
}
_CONFLICT = {
    "kind": "task_type",
    "name": "acme_sensor",
    "version": 0,
    "pin": "",
    "reason": "TaskTypeConflict",
    "because": "established",
    "message": "The task type acme_sensor belongs to api/acme/sensors of acme: its claim is established.",
    "needs_review": False,
    "winner_team": "acme",
    "winner_document": "api/acme/sensors",
}
_STATUS = {"conditions": [_CONDITION], "conflicts": [], "observations": []}
_DOCUMENT = {
    **_SUMMARY,
    "text": TEXT,
    "facts": {},
    "canary": None,
    "diagnostics": [],
    "quarantines": [],
    "data_planes": [{"data_plane": "eu-1", **_STATUS}],
}
_CHANGES = ["+ agent acme-sensor", "+ task type acme_sensor at acme-sensor"]
_PREVIEW = {
    "documents": [{**_NAME, "verdict": "valid", "diagnostics": []}],
    "data_planes": [
        {
            "data_plane": "eu-1",
            "affected": True,
            "digest": _SHA,
            "changes": _CHANGES,
            "held": [],
            "documents": [{"team": "acme", "name": "sensors", **_STATUS}],
        }
    ],
}
_GRANT = {
    "id": "019a9f5e-7c00-7000-8000-000000000041",
    "team": "acme",
    "kind": "task_type",
    "pattern": "acme_*",
    "created_at": _TIMESTAMP,
    "created_by": "admin",
}
_CLAIM = {
    "data_plane": "eu-1",
    "kind": "task_type",
    "name": "acme_sensor",
    "version": 0,
    "pin": "",
    "team": "acme",
    "document": "api/acme/sensors",
    "established": True,
    "first_accepted_at": _TIMESTAMP,
    "gone_at": None,
}
_TEAM = {"name": "acme", "organisation": "", "publishers": ["acme-ci"], "version": 1}
_SPEC = {
    "dialect": "agent",
    "release": "1.16.0",
    "enabled_plugins": ["container", "agent-service"],
    "platform": {},
    "placeholders": [],
    "teams": [],
    "principal": "flyte-eu-1",
    "stage": 1,
    "config_map": {"namespace": "flyte"},
}
_PLANE = {
    "name": "eu-1",
    "team": None,
    **_SPEC,
    "version": 1,
    "active_revision": 1,
    "applied_revision": 0,
    "latest_revision": 1,
    "activated_at": _TIMESTAMP,
    "ack_state": "",
    "acked_at": None,
    "ack_errors": [],
    "searching": False,
    "held_digest": "",
    "held": [],
    "held_changes": [],
    "held_teams": [],
}
_BUNDLE = {
    "data_plane": "eu-1",
    "revision": 1,
    "parent": 0,
    "digest": _SHA,
    "changes": _CHANGES,
    "created_at": _TIMESTAMP,
    "created_by": "acme-ci",
}
_BUNDLE_DETAILS = {**_BUNDLE, "text": TEXT, "inputs": ["api/acme/sensors generation 1"], "dropped": []}
_REMOVAL = {"digest": _SHA, "documents": ["kubernetes/acme/flyteplugins-agentservice-sensors"]}
_SOURCE = {
    "source": "kubernetes",
    "state": "awaiting_confirmation",
    "checked_at": _TIMESTAMP,
    "loaded_at": _TIMESTAMP,
    "problem_count": 0,
    "problems": [],
    "pending": _REMOVAL,
    "watcher": "agent-config-watcher-6f7c-1",
    "counts": {"config_maps": 12, "lists": 3, "expired": 1, "events": 12},
}
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "operation": "CREATE",
        "namespace": "acme",
        "name": "flyteplugins-agentservice-acme",
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "flyteplugins-agentservice-acme", "namespace": "acme"},
            "data": {"agents.yaml": TEXT},
        },
    },
}
_REVIEW_RESPONSE = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "response": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": True, "warnings": []},
}


def _request_example(value: Any, name: str = "Request", **more: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True, **more)


def _response_example(value: Any, name: str = "Response", **more: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, **more)


def _page(item: Any) -> OpenApiExample:
    return _response_example({"items": [item], "next_cursor": None}, "Page")


DOCUMENTS = [_page(_SUMMARY)]
DOCUMENT = [_response_example(_DOCUMENT, status_codes=["200", "201"])]
PUBLISH = [
    _request_example({"text": TEXT}, "As JSON", media_type="application/json"),
    _request_example(TEXT, "As YAML", media_type=MEDIA_TYPE),
    *DOCUMENT,
]
NAMED = [_request_example({**_NAME, "message": "Its agents overload polling."}), *DOCUMENT]
READMITTED = [_request_example(_NAME), *DOCUMENT]
PREVIEW = [_request_example({"items": [{**_NAME, "text": TEXT}]}), _response_example(_PREVIEW)]
ADMISSION = [_request_example(_REVIEW), _response_example(_REVIEW_RESPONSE)]
TEAMS = [_page(_TEAM)]
TEAM = [_response_example(_TEAM, status_codes=["200", "201"])]
TEAM_PUT = [_request_example({"publishers": ["acme-ci"]}), *TEAM]
GRANTS = [_page(_GRANT)]
GRANT = [
    _request_example({"team": "acme", "kind": "task_type", "pattern": "acme_*"}),
    _response_example(_GRANT, status_codes=["201"]),
]
PARTS = [
    _page(
        {
            "data_plane": "eu-1",
            "team": "acme",
            "documents": ["api/acme/sensors generation 1"],
            "held_digest": _SHA,
            "held": [{"gate": "removes_too_much", "message": "60 of 60 agents would be removed."}],
            "held_changes": ["- agent acme-sensor"],
            "held_since": _TIMESTAMP,
        }
    )
]
CLAIMS = [_page(_CLAIM)]
RELEASE = [_request_example({"team": "acme", "kind": "task_type", "name": "acme_sensor"})]
TRANSFER = [
    _request_example({"kind": "task_type", "name": "acme_sensor", "from_team": "acme", "to_team": "sensors"})
]
_PIN = {
    "kind": "task_type",
    "name": "acme_sensor",
    "team": "acme",
    "reason": "They run it in production.",
    "until": "2027-01-31T00:00:00Z",
    "created_at": _TIMESTAMP,
    "created_by": "admin",
}
PINS = [_page(_PIN)]
PIN = [
    _request_example({"kind": "task_type", "name": "acme_sensor", "team": "acme", "until": _PIN["until"]}),
    _response_example(_PIN),
]
UNPIN = [_request_example({"kind": "task_type", "name": "acme_sensor"})]
CONFLICTS = [
    _page(
        {
            "data_plane": "eu-1",
            "source": "api",
            "team": "other",
            "document": "agents",
            "conflicts": [_CONFLICT],
        }
    )
]
PLANES = [_page(_PLANE)]
PLANE = [_response_example(_PLANE, status_codes=["200", "201"])]
PLANE_PUT = [_request_example(_SPEC), *PLANE]
_CONFIG = {"plugins": {"agent-service": {"supportedTaskTypes": ["acme_sensor"]}}}
CONFIG = [
    _response_example(_CONFIG, "YAML", media_type=MEDIA_TYPE),
    _response_example(_CONFIG, "JSON", media_type="application/json"),
]
ACK = [
    _request_example({"revision": 1, "status": "APPLIED"}, "Applied"),
    _request_example(
        {
            "revision": 1,
            "status": "REJECTED",
            "errors": [
                {"message": "cannot dial", "path": "/plugins/agent-service/agents/acme-sensor/endpoint"}
            ],
        },
        "Rejected",
    ),
    *PLANE,
]
APPROVAL = [_request_example({"digest": _SHA}), *PLANE]
BUNDLES = [_page(_BUNDLE)]
BUNDLE = [_response_example(_BUNDLE_DETAILS)]
BUNDLE_DIFFERENCE = [_response_example({"changes": _CHANGES, "restarts": []})]
SOURCES = [_page(_SOURCE)]
CONFIRM_REMOVAL = [
    _request_example({"source": "kubernetes", "digest": _SHA}),
    _response_example(_SOURCE),
]
