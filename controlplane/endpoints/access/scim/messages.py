"""SCIM messages: read what an identity provider sends, and show users and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from scim2_models import (
    Context,
    EnterpriseUser,
    Group,
    GroupMember,
    GroupMembership,
    InvalidValueException,
    Meta,
    PatchOp,
    ResponseParameters,
    ScimPolicy,
    User,
)

from controlplane.access.scim.groups import GroupFields
from controlplane.access.scim.models import ScimGroup, ScimUser
from controlplane.access.scim.users import UserFields

UserResource = User[EnterpriseUser]
PATH = "/scim/v2"
# What Entra ID and Okta send beyond the standard: other attributes, "False", members to remove as a value.
POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
_MAX_NAME = 255
_ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
# What is left of a PATCH of the manager alone.
_NO_OPERATIONS: dict[str, Any] = {}
# Not stored: ours, or a secret that nobody needs.
_NOT_KEPT = ("id", "meta", "groups", "password", "schemas", "userName", "externalId", "active")


def read_user(body: Any, context: Context) -> UserFields:
    """Return the fields of a user in a request. Raises SCIMException, ValidationError."""
    kept = _without_manager(body)
    return user_fields(UserResource.model_validate(kept, scim_ctx=context, scim_policy=POLICY))


def patched_user(user: ScimUser, body: Any) -> UserFields:
    """Return the fields of a user after a PATCH. Raises SCIMException, ValidationError."""
    resource = user_resource(user, {})
    kept = _without_manager_operations(body)
    if kept is not _NO_OPERATIONS:
        _patch(PatchOp[UserResource], resource, kept)
    return user_fields(resource)


def read_group(body: Any, context: Context) -> GroupFields:
    """Return the fields of a group in a request. Raises SCIMException, ValidationError."""
    return _group_fields(Group.model_validate(body, scim_ctx=context, scim_policy=POLICY))


def patched_group(group: ScimGroup, member_ids: list[UUID], body: Any) -> GroupFields:
    """Return the fields of a group after a PATCH. Raises SCIMException, ValidationError."""
    resource = group_resource(group, member_ids)
    _patch(PatchOp[Group], resource, body)
    return _group_fields(resource)


def user_resource(user: ScimUser, groups: Mapping[str, str]) -> User[EnterpriseUser]:
    """Return a user as SCIM shows it. groups: display names by id."""
    document = {
        **user.document,
        "id": str(user.principal_id),
        "userName": user.user_name,
        "active": user.principal.is_active,
        **({"externalId": user.external_id} if user.external_id else {}),
    }
    resource = UserResource.model_validate(document, scim_policy=POLICY)
    resource.meta = _meta("Users", "User", user)
    if groups:
        resource.groups = [
            GroupMembership.model_validate({"value": value, "display": name})
            for value, name in groups.items()
        ]
    return resource


def group_resource(group: ScimGroup, member_ids: list[UUID]) -> Group:
    """Return a group as SCIM shows it."""
    return Group(
        id=str(group.team_id),
        display_name=group.display_name,
        external_id=group.external_id or None,
        members=_members(member_ids),
        meta=_meta("Groups", "Group", group),
    )


def _members(member_ids: list[UUID]) -> list[GroupMember] | None:
    return [GroupMember.model_validate({"value": str(member_id)}) for member_id in member_ids] or None


def show(resource: Any, parameters: ResponseParameters[Any] | None = None) -> dict[str, Any]:
    """Return the JSON of a response. parameters: which attributes the client wants."""
    shown: dict[str, Any] = resource.model_dump(
        scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=parameters, scim_policy=POLICY
    )
    return shown


def location(kind: str, resource_id: UUID) -> str:
    return f"{settings.PUBLIC_URL}{PATH}/{kind}/{resource_id}"


def user_fields(resource: User[EnterpriseUser]) -> UserFields:
    """Return the fields of a user. Raises InvalidValueException without a userName."""
    user_name = (resource.user_name or "").strip()
    if not user_name or len(user_name) > _MAX_NAME:
        raise InvalidValueException(detail=f"userName must have 1 to {_MAX_NAME} characters.")
    document = resource.model_dump(scim_ctx=Context.DEFAULT, scim_policy=POLICY)
    return UserFields(
        user_name=user_name,
        external_id=_short(resource.external_id),
        display_name=_display_name(resource),
        email=_email(resource),
        # RFC 7643 section 4.1.1: without `active`, the user is active.
        is_active=resource.active is not False,
        document={name: value for name, value in document.items() if name not in _NOT_KEPT},
    )


def _without_manager(body: Any) -> Any:
    """Return the user without its manager, whom providers send in forms that SCIM does not allow."""
    extension = body.get(_ENTERPRISE) if isinstance(body, dict) else None
    if not isinstance(extension, dict) or "manager" not in extension:
        return body
    return {**body, _ENTERPRISE: {name: extension[name] for name in extension if name != "manager"}}


def _without_manager_operations(body: Any) -> Any:
    operations = body.get("Operations") if isinstance(body, dict) else None
    if not isinstance(operations, list):
        return body
    kept = [operation for operation in operations if not _is_about_manager(operation)]
    return {**body, "Operations": kept} if kept or not operations else _NO_OPERATIONS


def _is_about_manager(operation: Any) -> bool:
    path = operation.get("path") if isinstance(operation, dict) else None
    return isinstance(path, str) and path.lower().startswith(f"{_ENTERPRISE}:manager".lower())


def _patch(message: Any, resource: Any, body: Any) -> None:
    patch = message.model_validate(body, scim_ctx=Context.RESOURCE_PATCH_REQUEST, scim_policy=POLICY)
    patch.patch(resource, scim_policy=POLICY)


def _group_fields(resource: Group) -> GroupFields:
    display_name = (resource.display_name or "").strip()
    if not display_name or len(display_name) > _MAX_NAME:
        raise InvalidValueException(detail=f"displayName must have 1 to {_MAX_NAME} characters.")
    members = frozenset(_member_id(member) for member in resource.members or ())
    return GroupFields(display_name, _short(resource.external_id), members)


def _member_id(member: GroupMember) -> UUID:
    try:
        return UUID(str(member.value))
    except ValueError as error:
        raise InvalidValueException(detail=f"{str(member.value)[:80]!r} is not the id of a user.") from error


def _short(external_id: str | None) -> str:
    if external_id and len(external_id) > _MAX_NAME:
        raise InvalidValueException(detail=f"externalId can have at most {_MAX_NAME} characters.")
    return external_id or ""


def _display_name(resource: User[EnterpriseUser]) -> str:
    if resource.display_name:
        return resource.display_name
    name = resource.name
    if name is None:
        return ""
    return name.formatted or " ".join(filter(None, (name.given_name, name.family_name)))


def _email(resource: User[EnterpriseUser]) -> str:
    """Return the primary address, else the first."""
    emails = [email for email in resource.emails or () if email.value]
    primary = next((email for email in emails if email.primary), emails[0] if emails else None)
    return str(primary.value) if primary else ""


def _meta(kind: str, name: str, row: ScimUser | ScimGroup) -> Meta:
    return Meta(
        resource_type=name,
        created=row.created_at,
        last_modified=row.changed_at,
        location=location(kind, row.pk),
        version=f'W/"{row.version}"',
    )
