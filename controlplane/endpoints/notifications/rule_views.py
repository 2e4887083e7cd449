"""HTTP endpoints for notification rules."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.notifications import examples, schemas
from controlplane.identity.roles import Action
from controlplane.notifications import rule_changes
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.previews import preview_rule

_TAGS = ["notifications"]


def _get(request: Request, rule_id: UUID, action: Action = Action.NOTIFICATION_WRITE) -> NotificationRule:
    return rule_changes.get_rule(caller_of(request), rule_id, action)


class RuleCollection(Endpoint):
    actions = {"GET": Action.NOTIFICATION_READ, "POST": Action.NOTIFICATION_WRITE}
    problems = {"POST": (errors.UnknownTeam, errors.NameTaken, errors.LimitReached)}

    @extend_schema(
        operation_id="notification_rules_list",
        summary="List notification rules",
        description="Built-in rules are among them; they do nothing until somebody chooses a channel.",
        tags=_TAGS,
        parameters=[schemas.NotificationRuleQuery],
        responses=schemas.NotificationRulePage,
        examples=[examples.RULES],
    )
    def get(self, request: Request) -> Response:
        query = schemas.NotificationRuleQuery.parse(request)
        rows = rule_changes.visible_rules(caller_of(request))
        if query["is_active"] is not None:
            rows = rows.filter(is_active=query["is_active"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_rule)

    @extend_schema(
        operation_id="notification_rules_create",
        summary="Create a notification rule",
        description="Events that match become alerts, and alerts become messages to the channels. Only events"
        " that you may read match; your permissions are checked again at each event.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.NotificationRuleCreate,
        responses={201: schemas.NotificationRuleRead},
        examples=[examples.RULE_WRITE, examples.RULE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.NotificationRuleCreate, request)
        caller = caller_of(request)
        rule = rule_changes.create_rule(
            schemas.spec_from(body),
            team=choose_team(caller.owners_for(Action.NOTIFICATION_WRITE), body.get("team")),
            caller=caller,
            actor=actor_of(request, query["change_message"]),
        )
        headers = {
            "ETag": version_etag(rule.version),
            "Location": f"/api/v1/notification-rules/{rule.id}",
        }
        return Response(schemas.show_rule(rule), status=201, headers=headers)


class RuleItem(Endpoint):
    actions = {
        "GET": Action.NOTIFICATION_READ,
        "PUT": Action.NOTIFICATION_WRITE,
        "DELETE": Action.NOTIFICATION_WRITE,
    }
    problems = {
        "PUT": (errors.UnknownNotificationRule, errors.NameTaken),
        "DELETE": (errors.UnknownNotificationRule,),
    }
    has_versions = True

    @extend_schema(
        operation_id="notification_rules_get",
        summary="Get one notification rule",
        description="Returns an ETag; send it as `If-Match` to change or delete the rule.",
        tags=_TAGS,
        responses=schemas.NotificationRuleRead,
        examples=[examples.RULE],
    )
    def get(self, request: Request, rule_id: UUID) -> Response:
        Query.parse(request)
        rule = _get(request, rule_id, Action.NOTIFICATION_READ)
        return respond(request, schemas.show_rule(rule), etag=version_etag(rule.version))

    @extend_schema(
        operation_id="notification_rules_put",
        summary="Replace a notification rule",
        description="Open alerts stay, and their messages are still changed when they end.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.NotificationRuleWrite,
        responses=schemas.NotificationRuleRead,
        examples=[examples.RULE_WRITE, examples.RULE],
    )
    @mutation
    def put(self, request: Request, rule_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        rule = rule_changes.change_rule(
            _get(request, rule_id),
            schemas.spec_from(parse_body(schemas.NotificationRuleWrite, request)),
            precondition=parse_precondition(request),
            caller=caller_of(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(schemas.show_rule(rule), headers={"ETag": version_etag(rule.version)})

    @extend_schema(
        operation_id="notification_rules_delete",
        summary="Delete a notification rule",
        description="Its alerts are deleted too. To stop it for a while, set `is_active` to false.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, rule_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        precondition = parse_precondition(request)
        rule_changes.delete_rule(_get(request, rule_id), precondition=precondition, actor=actor)
        return Response(status=204)


class RulePreview(Endpoint):
    actions = {"POST": Action.NOTIFICATION_READ}
    takes_keys = False

    @extend_schema(
        operation_id="notification_rules_preview",
        summary="Preview a notification rule",
        description="Shows what the rule would have done in the last day with the events that you may read.",
        tags=_TAGS,
        request=schemas.NotificationRuleWrite,
        responses=schemas.NotificationRulePreview,
        examples=[examples.RULE_WRITE, examples.RULE_PREVIEW],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        spec = schemas.spec_from(parse_body(schemas.NotificationRuleWrite, request))
        return Response(schemas.show_rehearsed(preview_rule(caller_of(request), spec)))
