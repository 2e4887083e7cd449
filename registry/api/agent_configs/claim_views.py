"""HTTP endpoints for teams, grants, claims and conflicts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs.claims.grants import Grant, Transfer
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.models import AgentConfigGrant, AgentConfigStatus, ClaimRecord
from registry.agent_configs.publishing.hidden_teams import hidden_teams, planes_with_visible_names
from registry.agent_configs.publishing.ownership_transfer import (
    create_grant,
    delete_grant,
    release_claim,
    transfer_claim,
)
from registry.agent_configs.publishing.teams import (
    TeamSpec,
    check_may_publish,
    get_team,
    publishers_of,
    put_team,
    visible_teams,
)
from registry.agent_configs.team_models import PublishingTeam
from registry.api.agent_configs import claim_schemas as schemas
from registry.api.agent_configs import examples
from registry.api.agent_configs.document_schemas import show_conflicts

_TAGS = ["agent configurations"]


class TeamCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_teams_list",
        summary="List publishing teams",
        description=(
            "Each team with the principals that may publish for it. Teams of other organisations are not "
            "listed."
        ),
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.TeamPage,
        examples=examples.TEAMS,
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        rows = visible_teams(caller_of(request)).annotate(name=F("team__slug"))
        page = paginate(request, rows, order=("name", "team_id"), query=query)
        publishers = publishers_of(page.items)
        return page_response(
            request, page, lambda row: schemas.show_team(row, publishers.get(row.team_id, []))
        )


class TeamItem(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ, "PUT": Action.AGENT_CONFIG_RULE}
    has_versions = True

    @extend_schema(
        operation_id="agent_config_teams_get",
        summary="Get one publishing team",
        description="The response has an ETag; send it as `If-Match` to update the team.",
        tags=_TAGS,
        responses=schemas.TeamRead,
        examples=examples.TEAM,
    )
    def get(self, request: Request, team: str) -> Response:
        Query.parse(request)
        row = get_team(team, caller_of(request))
        return respond(request, _show_team(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="agent_config_teams_put",
        summary="Create or replace a publishing team",
        description=(
            "Sets the team's organisation and the principals that may publish for it. Replacing a team "
            "requires `If-Match` with its ETag."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.TeamWrite,
        responses={200: schemas.TeamRead, 201: schemas.TeamRead},
        examples=examples.TEAM_PUT,
    )
    @mutation
    def put(self, request: Request, team: str) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.TeamWrite, request)
        row, created = put_team(
            team,
            TeamSpec(body["organisation"], body["publishers"]),
            caller=caller_of(request),
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        headers = {"ETag": version_etag(row.version)}
        return Response(_show_team(row), status=201 if created else 200, headers=headers)


def _show_team(row: PublishingTeam) -> dict[str, Any]:
    return schemas.show_team(row, publishers_of([row])[row.team_id])


class GrantCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ, "POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="agent_config_grants_list",
        summary="List grants",
        description="A grant reserves the agent IDs or task types that match a pattern for one team.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.GrantPage,
        examples=examples.GRANTS,
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        rows = AgentConfigGrant.objects.filter(hidden_teams(caller_of(request)).visible("team"))
        return page_response(request, paginate(request, rows, order=("id",), query=query), schemas.show_grant)

    @extend_schema(
        operation_id="agent_config_grants_give",
        summary="Create a grant",
        description="Takes effect at once: claims with a more specific grant win.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.GrantWrite,
        responses={201: schemas.GrantRead},
        examples=examples.GRANT,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        # It takes names from other teams.
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(schemas.GrantWrite, request)
        grant = Grant(body["team"], body["pattern"], ClaimKind(body["kind"]))
        row = create_grant(grant, actor=actor_of(request, query["change_message"]))
        headers = {"Location": f"{request.path}/{row.id}"}
        return Response(schemas.show_grant(row), status=201, headers=headers)


class GrantItem(Endpoint):
    actions = {"DELETE": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="agent_config_grants_withdraw",
        summary="Delete a grant",
        description="Claims that relied on the grant are evaluated again at once.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, grant_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        delete_grant(grant_id, actor=actor_of(request, query["change_message"]))
        return Response(status=204)


class ClaimCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="agent_config_claims_list",
        summary="List claims to agent IDs and task types",
        description="Shows which team has each name in each data plane, and since when.",
        tags=_TAGS,
        parameters=[schemas.ClaimListQuery],
        responses=schemas.ClaimPage,
        examples=examples.CLAIMS,
    )
    def get(self, request: Request) -> Response:
        query = schemas.ClaimListQuery.parse(request)
        filters = {name: query[name] for name in ("data_plane", "team", "kind", "name") if name in query}
        caller = caller_of(request)
        rows = ClaimRecord.objects.filter(
            hidden_teams(caller).visible("team"), planes_with_visible_names(caller), **filters
        )
        return page_response(request, paginate(request, rows, order=("id",), query=query), schemas.show_claim)


class ReleaseClaim(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_PUBLISH}
    problems = {"POST": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="agent_config_claims_release",
        summary="Release a claim",
        description="The team keeps serving the name until another team claims it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.ReleaseWrite,
        responses={204: None},
        examples=examples.RELEASE,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.ReleaseWrite, request)
        check_may_publish(caller_of(request), body["team"])
        actor = actor_of(request, query["change_message"])
        release_claim(body["team"], ClaimKind(body["kind"]), body["name"], actor=actor)
        return Response(status=204)


class TransferClaim(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="agent_config_claims_transfer",
        summary="Transfer a claim to another team",
        description="Rejected if the new owner does not claim the name, because nobody would serve it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.TransferWrite,
        responses={204: None},
        examples=examples.TRANSFER,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(schemas.TransferWrite, request)
        order = Transfer(ClaimKind(body["kind"]), body["name"], body["from_team"], body["to_team"])
        transfer_claim(order, actor=actor_of(request, query["change_message"]))
        return Response(status=204)


class ConflictCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="agent_config_conflicts_list",
        summary="List rejected claims",
        description=(
            "Lists the documents whose claims lost to another document, with the winner and the rule that "
            "decided."
        ),
        tags=_TAGS,
        parameters=[schemas.ConflictListQuery],
        responses=schemas.ConflictPage,
        examples=examples.CONFLICTS,
    )
    def get(self, request: Request) -> Response:
        query, caller = schemas.ConflictListQuery.parse(request), caller_of(request)
        hidden = hidden_teams(caller)
        rows = AgentConfigStatus.objects.exclude(conflicts=[]).select_related("document")
        rows = rows.filter(hidden.visible("document__team"), planes_with_visible_names(caller))
        if "data_plane" in query:
            rows = rows.filter(data_plane=query["data_plane"])
        if "team" in query:
            rows = rows.filter(document__team=query["team"])

        def show(row: AgentConfigStatus) -> dict[str, Any]:
            document = row.document
            return {
                "data_plane": row.data_plane_id,
                "source": document.source,
                "team": document.team,
                "document": document.name,
                "conflicts": show_conflicts(row.conflicts, hidden),
            }

        return page_response(request, paginate(request, rows, order=("id",), query=query), show)
