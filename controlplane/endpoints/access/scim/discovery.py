"""What this SCIM server supports: configuration, resource types and schemas."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    EnterpriseUser,
    ETag,
    Filter,
    Group,
    ListResponse,
    Patch,
    ResourceType,
    Schema,
    ServiceProviderConfig,
    Sort,
    User,
)

from controlplane.endpoints.access.scim.base import MOST_RESULTS, ScimView, respond
from controlplane.endpoints.access.scim.messages import UserResource, show
from controlplane.errors import NotFound


class Configuration(ScimView):
    """The configuration: PATCH and filters; no bulk requests, sorting, ETags or passwords."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scheme = AuthenticationScheme.model_validate(
            {
                "type": "oauthbearertoken",
                "name": "Bearer token",
                "description": "A token with the scope scim.",
                "specUri": "https://www.rfc-editor.org/rfc/rfc6750",
            }
        )
        configuration = ServiceProviderConfig(
            patch=Patch(supported=True),
            bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
            filter=Filter(supported=True, max_results=MOST_RESULTS),
            change_password=ChangePassword(supported=False),
            sort=Sort(supported=False),
            etag=ETag(supported=False),
            authentication_schemes=[scheme],
        )
        return respond(show(configuration))


class ResourceTypes(ScimView):
    """The resource types User and Group."""

    def get(self, request: HttpRequest, name: str = "") -> HttpResponse:
        types = [ResourceType.from_resource(resource) for resource in (UserResource, Group)]
        return _list_or_item(ResourceType, types, name)


class Schemas(ScimView):
    """The schemas of users and groups."""

    def get(self, request: HttpRequest, name: str = "") -> HttpResponse:
        schemas = [resource.to_schema() for resource in (User, EnterpriseUser, Group)]
        return _list_or_item(Schema, schemas, name)


def _list_or_item(kind: Any, items: list[Any], item_id: str) -> HttpResponse:
    if not item_id:
        response = ListResponse[kind](
            total_results=len(items), start_index=1, items_per_page=len(items), resources=items
        )
        return respond(show(response))
    for item in items:
        if item_id in (item.id, getattr(item, "name", None)):
            return respond(show(item))
    raise NotFound(f"{item_id[:80]!r} does not exist.")
