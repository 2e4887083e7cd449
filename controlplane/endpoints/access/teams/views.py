"""HTTP endpoints for teams."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.organisations import get_organisation
from controlplane.access.teams import teams
from controlplane.access.teams.visible_teams import get_team_to_change, get_visible_team, visible_teams
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.teams import examples, schemas
from controlplane.identity.roles import Action


class TeamCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.UnknownOrganisation,)}

    @extend_schema(
        operation_id="teams_list",
        summary="List teams",
        description="Returns your teams, those that you have a role for, and those that you administer.",
        tags=["access"],
        parameters=[schemas.TeamListQuery],
        responses=schemas.TeamPage,
        examples=[examples.TEAM_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TeamListQuery.parse(request)
        rows = visible_teams(caller_of(request))
        if "member" in query:
            rows = rows.filter(memberships__principal__name=query["member"]).distinct()
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_team)

    @extend_schema(
        operation_id="teams_create",
        summary="Create a team",
        description="A new team has no members and no roles. It can own agents and documents at once.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.TeamWrite,
        responses={201: schemas.TeamRead},
        examples=[examples.TEAM_WRITE, examples.TEAM],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.TeamWrite, request)
        name = body.get("organisation")
        team = teams.create_team(
            body["slug"],
            title=body["title"],
            external_group=body["external_group"],
            organisation=get_organisation(name) if name else None,
            actor=actor_of(request),
        )
        headers = {"Location": f"{request.path}/{team.slug}", "ETag": version_etag(team.version)}
        return Response(schemas.show_team(team), status=201, headers=headers)


class TeamItem(Endpoint):
    actions = {"GET": Action.SELF_READ, "PUT": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    has_versions = True
    delegated = True
    problems = {"PUT": (errors.NameTaken,), "DELETE": (errors.StillInUse,)}

    @extend_schema(
        operation_id="teams_get",
        summary="Get one team",
        description="The response has an ETag; send it as `If-Match` to change the team.",
        tags=["access"],
        responses=schemas.TeamRead,
        examples=[examples.TEAM],
    )
    def get(self, request: Request, slug: str) -> Response:
        Query.parse(request)
        team = get_visible_team(caller_of(request), slug)
        return respond(request, schemas.show_team(team), etag=version_etag(team.version))

    @extend_schema(
        operation_id="teams_put",
        summary="Change a team",
        description="Replaces the title and the mirrored group. The name of a team never changes.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.TeamReplacement,
        responses=schemas.TeamRead,
        examples=[examples.TEAM_REPLACEMENT, examples.TEAM],
    )
    @mutation
    def put(self, request: Request, slug: str) -> Response:
        MutationQuery.parse(request)
        caller, body = caller_of(request), parse_body(schemas.TeamReplacement, request)
        team = get_team_to_change(caller, slug)
        if body["external_group"] != team.external_group:
            # All people of the group become members.
            caller.require(Action.ACCESS_WRITE)
        team = teams.change_team(
            team,
            title=body["title"],
            external_group=body["external_group"],
            actor=actor_of(request),
            precondition=parse_precondition(request),
        )
        return Response(schemas.show_team(team), headers={"ETag": version_etag(team.version)})

    @extend_schema(
        operation_id="teams_delete",
        summary="Delete a team",
        description=(
            "Also deletes its memberships, its roles, and all roles that are limited to it. Rejected while"
            " the team owns anything."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, slug: str) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        team = get_visible_team(caller, slug)
        caller.require(Action.ACCESS_WRITE)
        teams.delete_team(team, actor=actor_of(request), precondition=parse_precondition(request))
        return Response(status=204)
