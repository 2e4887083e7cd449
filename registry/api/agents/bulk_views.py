"""HTTP endpoints for bulk changes of agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.api.agents import bulk_examples as examples
from registry.api.agents import bulk_schemas as schemas
from registry.bulk_changes.changes import (
    BulkSpec,
    cancel_bulk_change,
    find_bulk_change,
    start_bulk_change,
    undo_bulk_change,
    visible_changes,
)
from registry.bulk_changes.decisions import BulkAction
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from registry.operations.decisions import Kind, operation_path

View = TypeVar("View", bound=Callable[..., Any])
_NOTES = {
    BulkAction.DRAIN: "Each agent finishes its work and gets no more. Can be undone.",
    BulkAction.RESUME: "Ends the drains. Can be undone.",
    BulkAction.RETIRE: "Revokes the agents' own tokens: to return, they must join again. Cannot be undone.",
    BulkAction.APPROVE: "The agents can take work afterwards. Cannot be undone.",
}


def _document(action: BulkAction, body: Any) -> Callable[[View], View]:
    decorator: Callable[[View], View] = extend_schema(
        operation_id=f"agents_bulk_{action}",
        summary=f"{action.capitalize()} many agents",
        description=(
            f"{_NOTES[action]} A task changes the agents in batches; follow the returned bulk change. "
            "`dry_run=true` answers the impact and is never refused. More than ten agents must be "
            "confirmed with their number. Agents that the caller may not change are not selected."
        ),
        tags=["agents"],
        parameters=[MutationQuery],
        request=body,
        responses={202: schemas.AgentBulkChangeRead},
        examples=[examples.WRITE, examples.READ],
    )
    return decorator


def _locations(row: AgentBulkChange) -> dict[str, str]:
    operation = operation_path(Kind.AGENT_BULK_CHANGE, row.id)
    return {"Location": f"/api/v1/agent-bulk-changes/{row.id}", "Operation-Location": operation}


class _BulkChangeStart(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}
    problems = {"POST": (errors.ConfirmationRequired, errors.Conflict)}
    action: ClassVar[BulkAction]
    body: ClassVar[type[schemas.AgentBulkChangeWrite]] = schemas.AgentBulkChangeWrite

    def start(self, request: Request) -> Response:
        query, body = MutationQuery.parse(request), parse_body(self.body, request)
        spec = BulkSpec(
            self.action,
            schemas.search_query(body["selector"]),
            dict(cast(Any, request.data)["selector"]),
            reason=body["reason"],
            until=body.get("until"),
            confirm=body.get("confirm"),
            batch_size=body["batch_size"],
            pause_seconds=body["pause_seconds"],
            allow_last_agents=body["allow_last_agents"],
            is_rehearsal=query["dry_run"],
        )
        row = start_bulk_change(spec, caller_of(request), actor=actor_of(request, body["reason"]))
        headers = {} if spec.is_rehearsal else _locations(row)
        return Response(schemas.show_bulk_change(row), status=202, headers=headers)


class BulkDrain(_BulkChangeStart):
    action, body = BulkAction.DRAIN, schemas.AgentBulkDrainWrite

    @_document(BulkAction.DRAIN, schemas.AgentBulkDrainWrite)
    @mutation
    def post(self, request: Request) -> Response:
        return self.start(request)


class BulkResumption(_BulkChangeStart):
    action = BulkAction.RESUME

    @_document(BulkAction.RESUME, schemas.AgentBulkChangeWrite)
    @mutation
    def post(self, request: Request) -> Response:
        return self.start(request)


class BulkRetirement(_BulkChangeStart):
    action = BulkAction.RETIRE

    @_document(BulkAction.RETIRE, schemas.AgentBulkChangeWrite)
    @mutation
    def post(self, request: Request) -> Response:
        return self.start(request)


class BulkApproval(_BulkChangeStart):
    action = BulkAction.APPROVE

    @_document(BulkAction.APPROVE, schemas.AgentBulkChangeWrite)
    @mutation
    def post(self, request: Request) -> Response:
        return self.start(request)


class BulkChangeCollection(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="agent_bulk_changes_list",
        summary="List bulk changes of agents",
        description="Newest first. They are kept for 30 days after their end.",
        tags=["agents"],
        parameters=[schemas.BulkChangeListQuery],
        responses=schemas.AgentBulkChangePage,
        examples=[examples.PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.BulkChangeListQuery.parse(request)
        rows = visible_changes(caller_of(request))
        rows = rows.filter(**{name: query[name] for name in ("state", "action") if name in query})
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_bulk_change)


class BulkChangeItem(Endpoint):
    actions = {"GET": Action.AGENT_READ}
    problems = {"GET": (errors.UnknownAgentBulkChange,)}

    @extend_schema(
        operation_id="agent_bulk_changes_get",
        summary="Get one bulk change of agents",
        description="With its state, and the number of agents in each state.",
        tags=["agents"],
        responses=schemas.AgentBulkChangeRead,
        examples=[examples.READ],
    )
    def get(self, request: Request, change: UUID) -> Response:
        Query.parse(request)
        return Response(schemas.show_bulk_change(find_bulk_change(change, caller_of(request))))


class BulkChangeAgents(Endpoint):
    actions = {"GET": Action.AGENT_READ}
    problems = {"GET": (errors.UnknownAgentBulkChange,)}

    @extend_schema(
        operation_id="agent_bulk_changes_agents",
        summary="List the agents of a bulk change",
        description="In the order in which they change, with the reason where one failed or was skipped.",
        tags=["agents"],
        parameters=[schemas.BulkChangeItemQuery],
        responses=schemas.AgentBulkChangeItemPage,
        examples=[examples.ITEM_PAGE],
    )
    def get(self, request: Request, change: UUID) -> Response:
        query, caller = schemas.BulkChangeItemQuery.parse(request), caller_of(request)
        row = find_bulk_change(change, caller)
        rows = AgentBulkChangeItem.objects.within(caller).filter(bulk_change_id=row.id)
        if "state" in query:
            rows = rows.filter(state=query["state"])
        page = paginate(request, rows, order=("id",), query=query)
        return page_response(request, page, lambda item: dict(schemas.AgentBulkChangeItemRead(item).data))


class BulkChangeCancellation(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}
    problems = {"POST": (errors.UnknownAgentBulkChange, errors.Conflict)}

    @extend_schema(
        operation_id="agent_bulk_changes_cancel",
        summary="Cancel a bulk change of agents",
        description="Agents that changed stay so; the remaining ones are left as they are.",
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.AgentBulkChangeRead,
        examples=[examples.READ],
    )
    @mutation
    def post(self, request: Request, change: UUID) -> Response:
        actor = actor_of(request, ReasonedQuery.parse(request)["change_message"])
        return Response(schemas.show_bulk_change(cancel_bulk_change(change, caller_of(request), actor=actor)))


class BulkChangeUndo(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}
    problems = {"POST": (errors.UnknownAgentBulkChange, errors.Conflict)}

    @extend_schema(
        operation_id="agent_bulk_changes_undo",
        summary="Undo a bulk change of agents",
        description=(
            "Restores the drains that agents had before, except where somebody changed the agent since. "
            "What remains of a running change is cancelled. `retire` and `approve` cannot be undone: 409."
        ),
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=None,
        responses={202: schemas.AgentBulkChangeRead},
        examples=[examples.READ],
    )
    @mutation
    def post(self, request: Request, change: UUID) -> Response:
        actor = actor_of(request, ReasonedQuery.parse(request)["change_message"])
        row = undo_bulk_change(change, caller_of(request), actor=actor)
        return Response(schemas.show_bulk_change(row), status=202, headers=_locations(row))
