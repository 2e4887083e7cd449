"""HTTP endpoints that check documents and store nothing: the preview and Kubernetes admission."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.identity.roles import Action
from registry.agent_configs import serialization
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.publishing.admission_webhook import review
from registry.agent_configs.publishing.hidden_teams import HiddenTeams, hidden_teams
from registry.agent_configs.publishing.preview import (
    DataPlaneOutcome,
    Preview,
    PreviewChange,
    preview_changes,
)
from registry.agent_configs.publishing.teams import check_may_publish
from registry.api.agent_configs import document_schemas, examples

_TAGS = ["agent configurations"]


class PreviewAgentConfigs(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_PUBLISH}
    problems = {"POST": (errors.UnknownTeam,)}
    takes_bundles = True

    @extend_schema(
        operation_id="agent_configs_preview",
        summary="Preview the effect of publishing or deleting",
        description="Previews all changes together and stores nothing. An invalid document changes nothing.",
        tags=_TAGS,
        request=document_schemas.PreviewWrite,
        responses=document_schemas.PreviewRead,
        examples=examples.PREVIEW,
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        items, caller = parse_body(document_schemas.PreviewWrite, request)["items"], caller_of(request)
        for item in items:
            check_may_publish(caller, item["team"])
        changes = [
            PreviewChange(DocumentId(item["source"], item["team"], item["name"]), item["text"])
            for item in items
        ]
        result = preview_changes(changes, caller)
        return Response(_show_preview(changes, result, hidden_teams(caller)))


class AdmitAgentConfig(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_ADMIT}
    takes_bundles = True

    @extend_schema(
        operation_id="agent_configs_admit",
        summary="Review a ConfigMap for Kubernetes admission",
        description=(
            "Reviews an AdmissionReview of admission.k8s.io/v1 for a ValidatingWebhookConfiguration; see "
            "deploy/webhook/. Responds with 200 even for a denial, and writes nothing."
        ),
        tags=_TAGS,
        request={"application/json": {"type": "object", "additionalProperties": True}},
        responses={200: {"type": "object", "additionalProperties": True}},
        examples=examples.ADMISSION,
    )
    def post(self, request: Request) -> Response:
        return Response(review(request.data, caller_of(request)))


def _show_preview(changes: list[PreviewChange], result: Preview, hidden: HiddenTeams) -> dict[str, Any]:
    documents = []
    for change in changes:
        reading = result.readings.get(change.id)
        verdict = "deleted" if reading is None else "invalid" if reading.errors else "valid"
        diagnostics = (
            [serialization.diagnostic_to_json(diagnostic) for diagnostic in reading.diagnostics]
            if reading
            else []
        )
        documents.append({**_show_name(change.id), "verdict": verdict, "diagnostics": diagnostics})
    return {
        "documents": documents,
        "data_planes": [_show_outcome(outcome, hidden) for outcome in result.outcomes],
    }


def _show_outcome(outcome: DataPlaneOutcome, hidden: HiddenTeams) -> dict[str, Any]:
    return {
        "data_plane": outcome.data_plane,
        "affected": outcome.is_affected,
        "digest": outcome.digest,
        "changes": list(outcome.changes),
        "held": [{"gate": hold.gate.value, "message": hold.message} for hold in outcome.holds],
        "documents": [
            {
                "team": name.namespace,
                "name": name.name,
                **document_schemas.show_status(
                    [serialization.condition_to_json(condition) for condition in status.conditions],
                    status.conflicts,
                    status.observations,
                    hidden,
                ),
            }
            for name, status in outcome.statuses.items()
        ],
    }


def _show_name(document: DocumentId) -> dict[str, str]:
    return {"source": document.source, "team": document.namespace, "name": document.name}
