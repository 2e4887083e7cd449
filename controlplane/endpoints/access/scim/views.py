"""Views of SCIM: authentication, errors and transactions of all, and users and groups."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from scim2_models import Context, Group, ListResponse, ResponseParameters

from controlplane.access.scim import groups, users
from controlplane.access.scim.models import ScimGroup, ScimUser
from controlplane.access.team_models import Membership, Via
from controlplane.endpoints.access.scim import messages
from controlplane.endpoints.access.scim.base import ScimView, page_of, respond
from controlplane.endpoints.access.scim.filters import GROUP_FILTERS, USER_FILTERS, condition_of
from controlplane.endpoints.access.scim.messages import UserResource


class Users(ScimView):
    """The collection of users."""

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = ScimUser.objects.select_related("principal").order_by("principal_id")
        rows = rows.filter(condition_of(request.GET.get("filter", ""), USER_FILTERS))
        page = page_of(request, rows)
        groups_of = _groups_of([user.principal_id for user in page.rows])
        resources = [messages.user_resource(user, groups_of[user.principal_id]) for user in page.rows]
        response = ListResponse[UserResource](
            total_results=page.total,
            start_index=page.start,
            items_per_page=len(resources),
            resources=resources,
        )
        return respond(messages.show(response, parameters_of(request, UserResource)))

    @transaction.atomic
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = messages.read_user(self.body(request), Context.RESOURCE_CREATION_REQUEST)
        user = users.create_user(fields, actor=self.actor)
        return _show_user(request, user, HTTPStatus.CREATED)


class UserItem(ScimView):
    """One user."""

    def get(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        return _show_user(request, users.get_user(user_id))

    @transaction.atomic
    def put(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        fields = messages.read_user(self.body(request), Context.RESOURCE_REPLACEMENT_REQUEST)
        return _show_user(request, users.change_user(user_id, fields, actor=self.actor))

    @transaction.atomic
    def patch(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        fields = messages.patched_user(users.get_user(user_id, lock=True), self.body(request))
        return _show_user(request, users.change_user(user_id, fields, actor=self.actor))

    @transaction.atomic
    def delete(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        users.deactivate_user(user_id, actor=self.actor)
        return HttpResponse(status=HTTPStatus.NO_CONTENT)


class Groups(ScimView):
    """The collection of groups."""

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = ScimGroup.objects.select_related("team").order_by("team_id")
        rows = rows.filter(condition_of(request.GET.get("filter", ""), GROUP_FILTERS)).distinct()
        page = page_of(request, rows)
        members = groups.member_ids_of([] if _omits_members(request) else [row.team_id for row in page.rows])
        resources = [messages.group_resource(row, members.get(row.team_id, [])) for row in page.rows]
        response = ListResponse[Group](
            total_results=page.total,
            start_index=page.start,
            items_per_page=len(resources),
            resources=resources,
        )
        return respond(messages.show(response, parameters_of(request, Group)))

    @transaction.atomic
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = messages.read_group(self.body(request), Context.RESOURCE_CREATION_REQUEST)
        group = groups.create_group(fields, actor=self.actor)
        return _show_group(request, group, HTTPStatus.CREATED)


class GroupItem(ScimView):
    """One group."""

    def get(self, request: HttpRequest, team_id: UUID) -> HttpResponse:
        return _show_group(request, groups.get_group(team_id))

    @transaction.atomic
    def put(self, request: HttpRequest, team_id: UUID) -> HttpResponse:
        fields = messages.read_group(self.body(request), Context.RESOURCE_REPLACEMENT_REQUEST)
        return _show_group(request, groups.change_group(team_id, fields, actor=self.actor))

    @transaction.atomic
    def patch(self, request: HttpRequest, team_id: UUID) -> HttpResponse:
        group = groups.get_group(team_id, lock=True)
        members = groups.member_ids_of([team_id])[team_id]
        fields = messages.patched_group(group, members, self.body(request))
        return _show_group(request, groups.change_group(team_id, fields, actor=self.actor))

    @transaction.atomic
    def delete(self, request: HttpRequest, team_id: UUID) -> HttpResponse:
        groups.delete_group(team_id, actor=self.actor)
        return HttpResponse(status=HTTPStatus.NO_CONTENT)


def parameters_of(request: HttpRequest, resource: Any) -> ResponseParameters[Any] | None:
    """Return which attributes the client wants. Raises ValidationError."""
    names = {
        name: request.GET[name] for name in ("attributes", "excludedAttributes") if request.GET.get(name)
    }
    return ResponseParameters[resource].model_validate(names) if names else None


def _omits_members(request: HttpRequest) -> bool:
    return "members" in request.GET.get("excludedAttributes", "").split(",")


def _show_user(request: HttpRequest, user: ScimUser, status: int = HTTPStatus.OK) -> HttpResponse:
    resource = messages.user_resource(user, _groups_of([user.principal_id])[user.principal_id])
    shown = messages.show(resource, parameters_of(request, UserResource))
    return respond(shown, status, location=messages.location("Users", user.principal_id))


def _show_group(request: HttpRequest, group: ScimGroup, status: int = HTTPStatus.OK) -> HttpResponse:
    members = [] if _omits_members(request) else groups.member_ids_of([group.team_id])[group.team_id]
    shown = messages.show(messages.group_resource(group, members), parameters_of(request, Group))
    return respond(shown, status, location=messages.location("Groups", group.team_id))


def _groups_of(principal_ids: list[UUID]) -> dict[UUID, dict[str, str]]:
    """Return the groups of each user: display names by id."""
    groups_of: dict[UUID, dict[str, str]] = {principal_id: {} for principal_id in principal_ids}
    rows = Membership.objects.filter(
        principal_id__in=principal_ids, via=Via.SCIM, team__scim_group__isnull=False
    ).order_by("team_id")
    for principal_id, team_id, name in rows.values_list(
        "principal_id", "team_id", "team__scim_group__display_name"
    ):
        groups_of[principal_id][str(team_id)] = name
    return groups_of
