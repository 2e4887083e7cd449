"""HTTP endpoints for the overrides document (RFC 3749) and the export."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.bodies import (
    MEDIA_TYPE,
    StrictJSONParser,
    YamlDocuments,
    YamlParser,
    YmlParser,
    located,
    wants_yaml,
)
from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of, mutation
from controlplane.api.etags import respond, version_etag
from controlplane.api.scopes import scope_from
from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.api.as_of import ScopeAsOfQuery, as_of
from overrides.api.schemas import AttributesField, OverrideMutationQuery
from overrides.api.write_options import author_of, held_headers, write_options_from
from overrides.documents.documents import ReceivedDocument
from overrides.documents.export import (
    ExportFilter,
    as_config_map,
    as_folder,
    export_documents,
    read_statements,
)
from overrides.documents.scope_document import put_document, scope_document
from overrides.projects import check_known

DOCUMENT_KINDS = [("overrides", "overrides")]
# A ConfigMap, or a stream of documents.
_ANY = {"description": "YAML."}
LAYOUTS = [(layout, layout) for layout in ("configmap", "documents", "folder")]


class OverridesDocument(serializers.Serializer[Any]):
    """Everything in effect at a scope, in one document."""

    apiVersion = serializers.IntegerField()
    domain = serializers.CharField(required=False)
    project = serializers.CharField(required=False)
    workflow = serializers.CharField(required=False)
    launchPlan = serializers.CharField(required=False)
    kind = serializers.ChoiceField(choices=DOCUMENT_KINDS)
    spec = AttributesField(
        help_text="By document key. `inherited: true` marks types that are not set here; `source` is their "
        "level."
    )
    status = AttributesField(required=False, help_text="`version` of the document. Ignored in a PUT.")


class ExportQuery(ScopeAsOfQuery):
    """What to export, and in which format. Overrides at and below the scope; without a scope, everything."""

    managed_by = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="Only values that this manager manages.",
    )

    format = serializers.ChoiceField(
        choices=LAYOUTS,
        required=False,
        default="configmap",
        help_text="`configmap`: one ConfigMap; `documents`: a stream of documents; `folder`: a tar archive.",
    )


class ScopeDocumentItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "PUT": Action.OVERRIDE_WRITE}
    problems = {
        "PUT": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.ChangeFrozen,
            errors.ApprovalRequired,
        )
    }
    parser_classes = (StrictJSONParser, YamlParser, YmlParser)
    has_versions = True

    @extend_schema(
        operation_id="overrides_document_get",
        summary="Get all settings of a scope as one document",
        description=(
            "Returns YAML or JSON, by Accept. Overrides of the scope appear as they are set; types that are "
            "inherited as a whole are marked; single inherited values are listed under `status`."
        ),
        tags=["overrides documents"],
        parameters=[ScopeAsOfQuery],
        responses={
            (200, "application/json"): OverridesDocument,
            (200, MEDIA_TYPE): OverridesDocument,
        },
        examples=examples.DOCUMENTS,
    )
    def get(self, request: Request) -> HttpResponseBase:
        query = ScopeAsOfQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        document = scope_document(scope, as_of=as_of(query))
        return _answer(request, document.content, etag=version_etag(document.version))

    @extend_schema(
        operation_id="overrides_document_put",
        summary="Replace all settings of a scope with one document",
        description=(
            "Sets what the document sets; removes from the scope what the document marks as inherited or "
            "leaves out. Requires If-Match with the ETag of the document."
        ),
        tags=["overrides documents"],
        parameters=[OverrideMutationQuery],
        request={"application/json": OverridesDocument, "application/yaml": {"type": "string"}},
        responses={
            (200, "application/json"): OverridesDocument,
            (200, MEDIA_TYPE): OverridesDocument,
        },
        examples=[*examples.DOCUMENT_WRITES, *examples.DOCUMENTS],
    )
    @mutation
    def put(self, request: Request) -> HttpResponseBase:
        query = OverrideMutationQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_WRITE, scope)
        with located(request):
            received = _one_document(request, scope)
            document, _ = put_document(
                scope,
                read_statements([received]),
                actor=author_of(request, query),
                options=write_options_from(request, query, [scope]),
            )
        answer = _answer(request, document.content, etag=version_etag(document.version))
        for name, value in held_headers(query, scope).items():
            answer[name] = value
        return answer


class Export(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="overrides_export",
        summary="Export overrides",
        description=(
            "Returns YAML, or JSON by Accept. The same content gives the same bytes. Applying an export to "
            "an empty installation with `POST /api/v1/overrides:apply` reproduces it. With a scope or a "
            "manager, the export contains only overrides at or below the scope, with the values of the "
            "manager; applying it as that manager changes nothing."
        ),
        tags=["overrides documents"],
        parameters=[ExportQuery],
        responses={
            (200, MEDIA_TYPE): _ANY,
            (200, "application/json"): {"type": "object", "additionalProperties": True},
            (200, "application/x-tar"): {"type": "string", "format": "binary"},
        },
        examples=examples.EXPORTS,
    )
    def get(self, request: Request) -> HttpResponseBase:
        query = ExportQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        check_known(scope)
        documents = export_documents(ExportFilter(scope, query["managed_by"], as_of(query)))
        if query["format"] == "folder":
            return _download(as_folder(documents), "application/x-tar", "overrides.tar")
        if query["format"] == "configmap":
            config_map = as_config_map(documents)
            if wants_yaml(request, otherwise=True):
                return _download(strict_yaml.dump(config_map), MEDIA_TYPE, "overrides.yaml")
            return Response(config_map)
        if wants_yaml(request, otherwise=True):
            return _download(strict_yaml.dump_all(documents), MEDIA_TYPE, "overrides.yaml")
        return Response({"documents": documents})


def _answer(request: Request, content: Any, *, etag: str) -> HttpResponseBase:
    answer = respond(request, content, etag=etag) if request.method in ("GET", "HEAD") else None
    if answer is not None and answer.status_code == 304:
        return answer
    if wants_yaml(request):
        headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
        return HttpResponse(strict_yaml.dump(content), content_type=MEDIA_TYPE, headers=headers)
    answer = answer or Response(content, headers={"ETag": etag})
    answer["Vary"] = "Accept"
    return answer


def _download(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(content, content_type=content_type, headers=headers)


def _one_document(request: Request, scope: Scope) -> ReceivedDocument:
    """Return the document of the body, whose scope must be the scope of the request or absent."""
    documents: list[Any] = request.data if isinstance(request.data, YamlDocuments) else [request.data]
    if len(documents) != 1:
        raise InvalidRequest(f"The body must contain one document, not {len(documents)}.")
    pointer = "/documents/0" if isinstance(request.data, YamlDocuments) else ""
    received = ReceivedDocument(documents[0], pointer)
    document_scope = received.scope
    if document_scope not in (scope, Scope()):
        message = f"The document is for {document_scope}, but the request is for {scope}. Use the same scope."
        raise InvalidRequest(message, errors=[FieldError(pointer, "other_scope", message)])
    if not {"spec", "overrides"} & set(documents[0]):
        # An empty body must not remove everything.
        message = "The document has no `spec`. To remove all overrides of the scope, send an empty `spec`."
        raise InvalidRequest(message, errors=[FieldError(f"{pointer}/spec", "required", message)])
    if document_scope != scope:
        received = ReceivedDocument(
            {**documents[0], **{name: value for name, value in scope.segments.items() if value}}, pointer
        )
    return received
