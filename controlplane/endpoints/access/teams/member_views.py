"""HTTP endpoints for the members of teams."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import Principal
from controlplane.access.principals import get_visible_principal
from controlplane.access.team_models import Membership, Team
from controlplane.access.teams import memberships
from controlplane.access.teams.visible_teams import (
    check_may_add_members,
    get_team_to_change,
    get_visible_team,
)
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.teams import examples, schemas
from controlplane.identity.roles import Action


class MemberCollection(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="team_members_list",
        summary="List members of a team",
        description="Returns people and services with the origin of their membership.",
        tags=["access"],
        parameters=[schemas.MemberListQuery],
        responses=schemas.MemberPage,
        examples=[examples.MEMBER_PAGE],
    )
    def get(self, request: Request, slug: str) -> Response:
        query = schemas.MemberListQuery.parse(request)
        rows = members_of(get_visible_team(caller_of(request), slug))
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_member)


class MemberItem(Endpoint):
    actions = {"PUT": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    delegated = True
    problems = {"PUT": (errors.UnknownPrincipal,), "DELETE": (errors.LastAdministrator,)}

    @extend_schema(
        operation_id="team_members_put",
        summary="Add a member to a team",
        description=(
            "The principal has the team's roles from its next request on. You need every permission that the"
            " team's roles give. Adding a member again changes nothing."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=None,
        responses={200: schemas.MemberRead, 201: schemas.MemberRead},
        examples=[examples.MEMBER],
    )
    @mutation
    def put(self, request: Request, slug: str, name: str) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        team = get_team_to_change(caller, slug)
        check_may_add_members(caller, team)
        principal = get_visible_principal(caller, name)
        is_new = memberships.add_member(team, principal, actor=actor_of(request))
        member = members_of(team).get(id=principal.id)
        return Response(schemas.show_member(member), status=201 if is_new else 200)

    @extend_schema(
        operation_id="team_members_delete",
        summary="Remove a member from a team",
        description=(
            "The team's roles are revoked from the principal's next request on. Memberships from an identity"
            " provider are changed there."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, slug: str, name: str) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        team = get_team_to_change(caller, slug)
        principal = get_visible_principal(caller, name)
        memberships.remove_member(team, principal, actor=actor_of(request))
        return Response(status=204)


def members_of(team: Team) -> QuerySet[Principal]:
    """Return the members with their memberships of this team alone."""
    own = Prefetch("memberships", Membership.objects.filter(team=team))
    return Principal.objects.filter(memberships__team=team).distinct().prefetch_related(own)
