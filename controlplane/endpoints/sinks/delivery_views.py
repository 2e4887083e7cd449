"""HTTP endpoints for deliveries."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query
from controlplane.api.pages import page_response, paginate
from controlplane.delivery import deliveries
from controlplane.delivery.sinks import get_sink
from controlplane.endpoints.sinks import delivery_schemas as schemas
from controlplane.endpoints.sinks import examples
from controlplane.identity.roles import Action

_TAGS = ["sinks"]


class DeliveryCollection(Endpoint):
    actions = {"GET": Action.SINK_READ}
    staleness = OF_LISTS
    problems = {"GET": (errors.UnknownSink,)}

    @extend_schema(
        operation_id="sinks_deliveries",
        summary="List the deliveries of a sink",
        description="Newest first. Dead ones failed in every attempt; retry or discard them.",
        tags=_TAGS,
        parameters=[schemas.DeliveryListQuery],
        responses=schemas.DeliveryPage,
        examples=[examples.DELIVERIES],
    )
    def get(self, request: Request, sink_id: UUID) -> Response:
        query = schemas.DeliveryListQuery.parse(request)
        sink = get_sink(caller_of(request), sink_id)
        rows = deliveries.visible_deliveries(caller_of(request)).filter(sink=sink)
        if "state" in query:
            rows = rows.filter(state=query["state"])
        page = paginate(request, rows, order=("-id",), query=query)
        return page_response(request, page, schemas.show_delivery)


class DeliveryItem(Endpoint):
    actions = {"GET": Action.SINK_READ}
    problems = {"GET": (errors.UnknownDelivery,)}

    @extend_schema(
        operation_id="deliveries_get",
        summary="Get one delivery with its attempts",
        description="Each attempt with the headers of the request and the beginning of the answer.",
        tags=_TAGS,
        responses=schemas.DeliveryDetail,
        examples=[examples.DELIVERY],
    )
    def get(self, request: Request, delivery_id: UUID) -> Response:
        Query.parse(request)
        delivery = deliveries.get_delivery(caller_of(request), delivery_id)
        return Response(schemas.show_delivery_with_attempts(delivery))


class DeliveryRetry(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownDelivery, errors.Conflict)}

    @extend_schema(
        operation_id="deliveries_retry",
        summary="Retry a delivery",
        description="It is sent now, and then follows the usual schedule of attempts.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.DeliveryDetail,
        examples=[examples.DELIVERY],
    )
    @mutation
    def post(self, request: Request, delivery_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        delivery = deliveries.get_delivery(caller_of(request), delivery_id, Action.SINK_WRITE)
        delivery = deliveries.retry(delivery, actor=actor_of(request, query["change_message"]))
        return Response(schemas.show_delivery_with_attempts(delivery))


class DeliveryDiscard(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownDelivery, errors.Conflict)}

    @extend_schema(
        operation_id="deliveries_discard",
        summary="Discard a delivery",
        description="It is not sent any more, and the next event of its object follows.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.DeliveryDetail,
        examples=[examples.DELIVERY],
    )
    @mutation
    def post(self, request: Request, delivery_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        delivery = deliveries.get_delivery(caller_of(request), delivery_id, Action.SINK_WRITE)
        delivery = deliveries.discard(delivery, actor=actor_of(request, query["change_message"]))
        return Response(schemas.show_delivery_with_attempts(delivery))
