"""Schemas of change requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Flag, Instant, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.scopes import Scope
from overrides.api.plan_schemas import CHANGE_KINDS, LeafDifference
from overrides.api.schemas import AttributesField
from overrides.approval_models import ChangeRequest, ChangeRequestApproval
from overrides.approvals.decisions import Policy, policies_over, required_by
from overrides.approvals.request_states import RequestState, required_approvals
from overrides.approvals.storage import all_policies
from overrides.change_requests.decisions import Way

STATES = [(state.value, state.value) for state in RequestState]
WAYS = [(way.value, way.value) for way in Way]
ASSIGNEES = [("me", "me")]
_LONGEST_COMMENT = 2000
_COLUMNS = (
    *("id", "resource_type", "state", "way", "document", "attributes", "message", "ticket"),
    *("planned_version", "planned_at", "digest", "created_by", "created_at", "closed_at", "closed_by"),
    *("revision", "scheduled_change_id"),
)


class ChangeRequestWrite(StrictSerializer):
    """A change of one override: exactly one of `attributes`, `patch` and `delete`."""

    scope = ScopeWrite(required=False)
    resource_type = Text(max_length=63)
    attributes = AttributesField(required=False, help_text="Replaces the attributes.")
    patch = AttributesField(required=False, help_text="JSON merge patch (RFC 7396) of the attributes.")
    delete = Flag(required=False, default=False, help_text="Deletes the override.")
    message = Text(required=False, default="", allow_blank=True, max_length=400, help_text="Why.")
    ticket = Text(required=False, default="", allow_blank=True, max_length=200, help_text="Id or address.")


class ApprovalWrite(StrictSerializer):
    """An approval of exactly one plan."""

    digest = Text(max_length=64, help_text="`digest` of the change request, as you have seen its plan.")
    comment = Text(required=False, default="", allow_blank=True, lines=True, max_length=_LONGEST_COMMENT)


class RejectionWrite(StrictSerializer):
    """Why the change is rejected."""

    comment = Text(lines=True, max_length=_LONGEST_COMMENT)


class CommentWrite(StrictSerializer):
    """A comment."""

    text = Text(lines=True, max_length=_LONGEST_COMMENT)


class PublicationWrite(StrictSerializer):
    """When to publish."""

    at = Instant(required=False, help_text="When to apply the change. Absent: now.")


class RequestEffect(serializers.Serializer[Any]):
    scope = ScopeRead()
    differences = LeafDifference(many=True)


class RequestPlanRead(serializers.Serializer[Any]):
    """What the change does to the override, and to effective values."""

    change = serializers.ChoiceField(choices=CHANGE_KINDS)
    differences = LeafDifference(many=True)
    affected_scopes = serializers.IntegerField(help_text="Scopes whose effective values change.")
    effective = RequestEffect(many=True, help_text="The first changes of effective values.")


class GivenApprovalRead(serializers.Serializer[Any]):
    reviewer = serializers.CharField()
    comment = serializers.CharField()
    created_at = serializers.DateTimeField()


class RequestCommentRead(serializers.Serializer[Any]):
    author = serializers.CharField()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class ChangeRequestRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    resource_type = serializers.CharField()
    scope = ScopeRead()
    state = serializers.ChoiceField(choices=STATES)
    way = serializers.ChoiceField(choices=WAYS)
    document = AttributesField(allow_null=True, help_text="What was requested; null if it deletes.")
    attributes = AttributesField(allow_null=True, help_text="After the change; null if it deletes.")
    message = serializers.CharField()
    ticket = serializers.CharField()
    planned_version = serializers.IntegerField(help_text="Version of the override that it was planned for.")
    planned_at = serializers.DateTimeField()
    digest = serializers.CharField(help_text="Identifies the plan. Send it to approve exactly this plan.")
    plan = RequestPlanRead()
    required_approvals = serializers.IntegerField(help_text="How many approvals it needs now.")
    approvals = GivenApprovalRead(many=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)
    closed_by = serializers.CharField(help_text="Who rejected, withdrew or published it.")
    revision = serializers.IntegerField(allow_null=True, help_text="Revision that it was published as.")
    scheduled_change_id = serializers.UUIDField(
        allow_null=True, help_text="Scheduled change that it was published as."
    )


class ChangeRequestDetails(ChangeRequestRead):
    """A change request with its comments."""

    comments = RequestCommentRead(many=True)


class ChangeRequestPage(serializers.Serializer[Any]):
    items = ChangeRequestRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ChangeRequestListQuery(PageQuery):
    state = serializers.ChoiceField(choices=STATES, required=False, help_text="Only in this state.")
    mine = serializers.BooleanField(required=False, default=False, help_text="Only your own.")
    assigned = serializers.ChoiceField(
        choices=ASSIGNEES, required=False, help_text="`me`: only those that wait for your approval."
    )
    project = serializers.CharField(required=False, help_text="Only this project.")
    domain = serializers.CharField(required=False, help_text="Only this domain.")
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    q = SearchField("resource_type", "project", "workflow", "message", "ticket", "created_by")
    sort = SortField(
        SortKeys.of("state", "resource_type", "created_by", created_at="id"), default="created_at"
    )


def show_requests(rows: Sequence[ChangeRequest]) -> list[dict[str, Any]]:
    """Return change requests as the API does, with one query for the approvals of all."""
    policies = all_policies()
    given = defaultdict(list)
    approvals = ChangeRequestApproval.objects.filter(change_request__in=rows)
    for approval in approvals.order_by("created_at", "id"):
        given[approval.change_request_id].append(approval)
    return [_show(row, given[row.id], policies) for row in rows]


def show_request(row: ChangeRequest) -> dict[str, Any]:
    """Return one change request with its comments."""
    comments = RequestCommentRead(row.comments.order_by("created_at", "id"), many=True).data
    return {**show_requests([row])[0], "comments": comments}


def _show(
    row: ChangeRequest, given: Sequence[ChangeRequestApproval], policies: Sequence[Policy]
) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    required = required_approvals(required_by(policies_over(policies, [row.scope])))
    return {
        **columns,
        "scope": show_scope(row.scope),
        "plan": {**row.plan, "effective": [_show_effect(effect) for effect in row.plan["effective"]]},
        "required_approvals": required,
        "approvals": GivenApprovalRead(given, many=True).data,
    }


def _show_effect(effect: dict[str, Any]) -> dict[str, Any]:
    return {**effect, "scope": show_scope(Scope(**effect["scope"]))}
