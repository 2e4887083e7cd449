"""HTTP endpoints for registered clusters, and for the reports of their collectors."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.publishing.admission_webhook import review
from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.registered.clusters import (
    ClusterSpec,
    count_documents,
    get_admitted_cluster,
    get_readable_cluster,
    get_reported_cluster,
    put_cluster,
    readable_clusters,
    remove_cluster,
)
from registry.agent_configs.sources.registered.receive import receive
from registry.agent_configs.sources.registered.reports import Collector, Report, ReportedDocument
from registry.api.agent_configs import cluster_examples
from registry.api.agent_configs import cluster_schemas as schemas
from registry.api.agent_configs.examples import ADMISSION

_TAGS = ["agent configurations"]


class ClusterCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_clusters_list",
        summary="List registered clusters",
        description="Lists the clusters whose collectors report agent configurations.",
        tags=_TAGS,
        parameters=[schemas.ClusterListQuery],
        responses=schemas.ClusterPage,
        examples=cluster_examples.CLUSTERS,
    )
    def get(self, request: Request) -> Response:
        query, caller = schemas.ClusterListQuery.parse(request), caller_of(request)
        names = [row.name for row in readable_clusters(caller)]
        rows = RegisteredCluster.objects.filter(name__in=names)
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        counts = count_documents(names)
        return page_response(
            request, page, lambda row: schemas.show_cluster(row, counts.get(row.name, 0), caller)
        )


class ClusterItem(Endpoint):
    actions = {
        "GET": Action.AGENT_CONFIG_READ,
        "PUT": Action.AGENT_CONFIG_RULE,
        "DELETE": Action.AGENT_CONFIG_RULE,
    }
    problems = {"PUT": (errors.LimitReached,), "DELETE": (errors.ConfirmationRequired,)}
    has_versions = True

    @extend_schema(
        operation_id="agent_config_clusters_get",
        summary="Get one registered cluster",
        description="The ETag covers the registration only; reports change the rest without it.",
        tags=_TAGS,
        responses=schemas.ClusterRead,
        examples=cluster_examples.CLUSTER,
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        return _respond(get_readable_cluster(name, caller_of(request)), request)

    @extend_schema(
        operation_id="agent_config_clusters_put",
        summary="Register a cluster, or change its registration",
        description=(
            "The cluster's collector reports with the token of the principal. Documents of namespaces that"
            " are no longer in the list are deleted with the next report, as if they were gone."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.ClusterWrite,
        responses={200: schemas.ClusterRead, 201: schemas.ClusterRead},
        examples=cluster_examples.CLUSTER_PUT,
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        # It concerns all teams.
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(schemas.ClusterWrite, request)
        row, created = put_cluster(
            name,
            ClusterSpec(body["principal"], tuple(body["namespaces"])),
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return _respond(row, request, status=201 if created else 200)

    @extend_schema(
        operation_id="agent_config_clusters_delete",
        summary="Remove a registered cluster",
        description=(
            "Also deletes the cluster's documents. If it has any, the request is refused until it has the"
            " `confirm` value of the refusal. A dry run is never refused."
        ),
        tags=_TAGS,
        parameters=[schemas.ClusterRemovalQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = schemas.ClusterRemovalQuery.parse(request)
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        remove_cluster(
            name,
            actor=actor_of(request, query["change_message"]),
            confirm=query["confirm"],
            asks=not query["dry_run"],
            precondition=parse_precondition(request),
        )
        return Response(status=204)


class ClusterReports(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_REPORT}
    takes_bundles = True
    # A report is complete, so that it can simply be sent again.
    takes_keys = False

    @extend_schema(
        operation_id="agent_config_clusters_report",
        summary="Report the documents of a cluster",
        description=(
            "For the collector in the cluster, with the token of the cluster's principal. A report has the"
            " digests of all documents; the response names those whose text is missing, which the collector"
            " adds to its next report. Many removals at once wait for a confirmation, and a namespace with an"
            " error loses no document."
        ),
        tags=_TAGS,
        parameters=[schemas.ReportQuery],
        request=schemas.ClusterReportWrite,
        responses=schemas.ClusterReportRead,
        examples=cluster_examples.CLUSTER_REPORT,
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        schemas.ReportQuery.parse(request)
        row = get_reported_cluster(name, caller_of(request))
        body = parse_body(schemas.ClusterReportWrite, request)
        answer = receive(
            row.name,
            _read_report(row.name, body),
            Collector(**body["collector"]),
            actor=actor_of(request),
            known_outcomes=body["known_outcomes"],
        )
        return Response(schemas.show_answer(answer))


class AdmitClusterAgentConfig(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_ADMIT}
    takes_bundles = True

    @extend_schema(
        operation_id="agent_config_clusters_admit",
        summary="Review a ConfigMap of a registered cluster",
        description=(
            "As `agent-configs:admit`, for the webhook of a registered cluster: the document is one of this"
            " cluster, and is denied if the cluster may not report its namespace."
        ),
        tags=_TAGS,
        request={"application/json": {"type": "object", "additionalProperties": True}},
        responses={200: {"type": "object", "additionalProperties": True}},
        examples=ADMISSION,
    )
    def post(self, request: Request, name: str) -> Response:
        Query.parse(request)
        caller = caller_of(request)
        row = get_admitted_cluster(name, caller)
        return Response(review(request.data, caller, source=row.name, namespaces=row.namespaces))


def _respond(row: RegisteredCluster, request: Request, status: int = 200) -> Response:
    cluster = schemas.show_cluster(row, count_documents([row.name]).get(row.name, 0), caller_of(request))
    return Response(cluster, status=status, headers={"ETag": version_etag(row.version)})


def _read_report(cluster: str, body: Mapping[str, Any]) -> Report:
    """Return the report. Raises InvalidRequest if a text is not that of its document."""
    documents = [
        ReportedDocument(
            DocumentId(cluster, each["namespace"], each["name"]),
            each["sha256"],
            each["size"],
            each["created_at"],
        )
        for each in body["documents"]
    ]
    digests = {each.id: each.digest for each in documents}
    if len(digests) < len(documents):
        raise schemas.malformed("/documents", "repeated", "A document is listed twice. List each once.")
    texts = {}
    for index, each in enumerate(body["texts"]):
        document = DocumentId(cluster, each["namespace"], each["name"])
        _check_text(index, each["text"], digests.get(document))
        texts[document] = each["text"]
    return Report(documents, texts, body["errors"])


def _check_text(index: int, text: str, digest: str | None) -> None:
    if digest is None:
        raise schemas.malformed(f"/texts/{index}", "unlisted", "The text is of no document in `documents`.")
    if sha256(text.encode(errors="replace")).hexdigest() != digest:
        raise schemas.malformed(
            f"/texts/{index}/text", "wrong_digest", "The text does not have the `sha256` of its document."
        )
