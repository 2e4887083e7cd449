"""HTTP endpoints that check plugin documents and store nothing."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint
from controlplane.api.fields import Query, parse_body
from controlplane.identity.roles import Action
from registry.api.plugins import examples, schemas
from registry.plugins.documents.canonical import digest
from registry.plugins.documents.configuration import read_configuration
from registry.plugins.documents.content import to_document
from registry.plugins.documents.specs import format_of, read_spec, versions_of

_TAGS = ["plugins"]


class PluginConfigCheck(Endpoint):
    # Nothing but the text itself is read.
    actions = {"POST": Action.SELF_READ}
    takes_keys = False
    takes_bundles = True

    @extend_schema(
        operation_id="plugin_config_validate",
        summary="Validate a plugin configuration",
        description="Returns all errors with line and column, and the normal form of a valid one. Nothing is"
        " stored.",
        tags=_TAGS,
        request=schemas.PluginDocumentWrite,
        responses=schemas.PluginConfigValidation,
        examples=[examples.CONFIG_WRITE, examples.CONFIG_VALIDATION],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        reading = read_configuration(parse_body(schemas.PluginDocumentWrite, request)["text"])
        content = reading.content
        document = to_document(content.configuration) if content else None
        return Response(
            {
                "valid": content is not None,
                "diagnostics": schemas.show_diagnostics(reading.diagnostics),
                "omitted": reading.omitted,
                "document": document,
                "digest": digest(document) if document else "",
                "secrets": [secret.name for secret in content.secrets] if content else [],
            }
        )


class PluginSpecCheck(Endpoint):
    actions = {"POST": Action.SELF_READ}
    takes_keys = False
    takes_bundles = True

    @extend_schema(
        operation_id="plugin_specs_validate",
        summary="Validate a plugin specification",
        description="Returns all errors with line and column. Both formats of Optimus are read: the second"
        " one has a field `version`. Nothing is stored.",
        tags=_TAGS,
        request=schemas.PluginDocumentWrite,
        responses=schemas.PluginSpecValidation,
        examples=[examples.SPEC_WRITE, examples.SPEC_VALIDATION],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        text = parse_body(schemas.PluginDocumentWrite, request)["text"]
        reading = read_spec(text)
        spec = reading.content
        return Response(
            {
                "valid": spec is not None,
                "diagnostics": schemas.show_diagnostics(reading.diagnostics),
                "omitted": reading.omitted,
                "format": format_of(text),
                "name": spec.name if spec else "",
                "versions": versions_of(spec) if spec else [],
            }
        )
