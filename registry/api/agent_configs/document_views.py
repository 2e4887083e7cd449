"""HTTP endpoints for published documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.bodies import MEDIA_TYPE, StrictJSONParser, limit_of, read_text
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, version_etag
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs.documents.published import Canary, DocumentId, TaskTypeFacts
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.publishing.publish import (
    API,
    DocumentSpec,
    delete_document,
    get_visible_document,
    put_document,
)
from registry.agent_configs.publishing.quarantine import quarantine, readmit
from registry.agent_configs.publishing.teams import check_may_publish, get_ruled_document
from registry.api.agent_configs import document_schemas, examples

_TAGS = ["agent configurations"]


class DocumentParser(StrictJSONParser):
    """Pass YAML through as text: reading the document reports all errors with positions."""

    media_type = MEDIA_TYPE

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return {"text": read_text(stream, limit_of(parser_context))}


class AgentConfigCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="agent_configs_list",
        summary="List agent configurations",
        description="Lists published documents without their text; get one to read it.",
        tags=_TAGS,
        parameters=[document_schemas.AgentConfigListQuery],
        responses=document_schemas.AgentConfigPage,
        examples=examples.DOCUMENTS,
    )
    def get(self, request: Request) -> Response:
        query = document_schemas.AgentConfigListQuery.parse(request)
        rows = AgentConfig.objects.filter(deleted_at=None).defer("text", "content", "diagnostics")
        rows = rows.filter(hidden_teams(caller_of(request)).visible("team"))
        filters = {name: query[name] for name in ("team", "source") if name in query}
        if "valid" in query:
            rows = rows.filter(is_valid=query["valid"])
        page = paginate(request, rows.filter(query["q"], **filters), order=query["sort"], query=query)
        return page_response(request, page, document_schemas.show_summary)


class AgentConfigItem(Endpoint):
    actions = {
        "GET": Action.AGENT_CONFIG_READ,
        "PUT": Action.AGENT_CONFIG_PUBLISH,
        "DELETE": Action.AGENT_CONFIG_PUBLISH,
    }
    problems = {
        "PUT": (errors.LimitReached, errors.InvalidAgentConfig, errors.UnknownTeam),
        "DELETE": (errors.UnknownTeam,),
    }
    parser_classes = (StrictJSONParser, DocumentParser)
    has_versions = True
    takes_bundles = True

    @extend_schema(
        operation_id="agent_configs_get",
        summary="Get one agent configuration",
        description="The ETag covers the document only; its status changes without it.",
        tags=_TAGS,
        parameters=[document_schemas.SourceQuery],
        responses=document_schemas.AgentConfigRead,
        examples=examples.DOCUMENT,
    )
    def get(self, request: Request, team: str, name: str) -> Response:
        source = document_schemas.SourceQuery.parse(request)["source"]
        row = get_visible_document(DocumentId(source, team, name), caller_of(request))
        return _respond(row, request)

    @extend_schema(
        operation_id="agent_configs_put",
        summary="Publish an agent configuration",
        description=(
            "An invalid document is rejected with all its errors, and the previous one is still served. The "
            "caller must be a publisher of the team."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request={"application/json": document_schemas.AgentConfigWrite, MEDIA_TYPE: {"type": "string"}},
        responses={200: document_schemas.AgentConfigRead, 201: document_schemas.AgentConfigRead},
        examples=examples.PUBLISH,
    )
    @mutation
    def put(self, request: Request, team: str, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        check_may_publish(caller_of(request), team)
        body = parse_body(document_schemas.AgentConfigWrite, request)
        row, created = put_document(
            _build_spec(DocumentId(API, team, name), body),
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return _respond(row, request, status=201 if created else 200)

    @extend_schema(
        operation_id="agent_configs_delete",
        summary="Delete an agent configuration",
        description="The team keeps its names for a day, so that the document can be moved or recreated.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, team: str, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        check_may_publish(caller_of(request), team)
        actor = actor_of(request, query["change_message"])
        delete_document(DocumentId(API, team, name), actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


class QuarantineAgentConfig(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}
    problems = {"POST": (errors.UnknownAgentConfig,)}

    @extend_schema(
        operation_id="agent_configs_quarantine",
        summary="Quarantine an agent configuration",
        description="No data plane gets the document until it is readmitted.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=document_schemas.QuarantineWrite,
        responses=document_schemas.AgentConfigRead,
        examples=examples.NAMED,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(document_schemas.QuarantineWrite, request)
        row = get_ruled_document(_read_document_id(body), caller_of(request))
        quarantine(row, body["message"], actor=actor_of(request, query["change_message"]))
        return _respond(row, request)


class ReadmitAgentConfig(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}
    problems = {"POST": (errors.UnknownAgentConfig,)}

    @extend_schema(
        operation_id="agent_configs_readmit",
        summary="End the quarantine of an agent configuration",
        description="All data planes get the document again.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=document_schemas.DocumentName,
        responses=document_schemas.AgentConfigRead,
        examples=examples.READMITTED,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        document = _read_document_id(parse_body(document_schemas.DocumentName, request))
        row = get_ruled_document(document, caller_of(request))
        readmit(row, actor=actor_of(request, query["change_message"]))
        return _respond(row, request)


def _build_spec(document: DocumentId, body: dict[str, Any]) -> DocumentSpec:
    facts = {name: TaskTypeFacts(**values) for name, values in body["facts"].items()}
    return DocumentSpec(document, body["text"], facts, Canary(**body["canary"]) if body["canary"] else None)


def _read_document_id(body: Mapping[str, Any]) -> DocumentId:
    return DocumentId(body["source"], body["team"], body["name"])


def _respond(row: AgentConfig, request: Request, status: int = 200) -> Response:
    headers = {"ETag": version_etag(row.generation)}
    return Response(document_schemas.show_document(row, caller_of(request)), status=status, headers=headers)
