"""HTTP endpoint that streams the effective values of a set of scopes."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request

from controlplane.api.bodies import JSONRenderer
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.endpoints.events.watch_header import hand_over, is_asked_again
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.effective.scope_sets import PROBLEMS, ScopeSetWrite, readable_scopes
from overrides.api.effective.value_items import ValueItem, value_item
from overrides.api.effective.watching.handed_watch import HandedWatch, effective_events, revision_of
from overrides.effective.effective import values_many
from overrides.loading.platform_defaults import platform_defaults
from overrides.loading.revisions import current_revision
from overrides.projects import check_listed, known_names

_LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID",
    str,
    OpenApiParameter.HEADER,
    description="The id of the last bookmark: the stream then begins with what has changed since.",
)
_REQUEST = OpenApiExample("Two scopes", request_only=True, value={"scopes": [{}, {"domain": "development"}]})
_STREAM = OpenApiExample(
    "A stream",
    value='event: effective\ndata: {...}\n\nid: 41\nevent: bookmark\ndata: {"revision":41}\n\n',
    response_only=True,
    media_type="text/event-stream",
)


class EffectiveStream(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}
    problems = {"POST": PROBLEMS}

    @extend_schema(
        operation_id="overrides_effective_stream",
        summary="Stream the effective values at up to 1,000 scopes",
        description=(
            "Server-sent events. First an event `effective` for each scope, with its values and their ETag,"
            " then a `bookmark`; afterwards only the scopes whose values change, each time followed by a"
            " `bookmark`. Bookmarks have the only ids: to resume, send the last one as `Last-Event-ID`. A"
            " read operation; it uses POST because the list of scopes can be long."
        ),
        tags=["overrides"],
        parameters=[_LAST_EVENT_ID],
        request=ScopeSetWrite,
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
        examples=[_REQUEST, _STREAM],
    )
    def post(self, request: Request) -> HttpResponse:
        Query.parse(request)
        body = parse_body(ScopeSetWrite, request)
        caller = caller_of(request)
        scopes = readable_scopes(body["scopes"], caller)
        watch, items = _first(request, str(caller.principal_id), scopes, body["resource_type"])
        texts = [JSONRenderer().render(item.content) for item in items]
        text = effective_events(texts, watch.revision, watch.defaults)
        response = HttpResponse(text, content_type="text/event-stream; charset=utf-8")
        # nginx would buffer events.
        response["X-Accel-Buffering"] = "no"
        hand_over(watch, request.headers, response)
        return response


def _first(
    request: Request, principal: str, scopes: Sequence[Scope], resource_type: str
) -> tuple[HandedWatch, Sequence[ValueItem]]:
    """Return the watch of a stream, and the items with which it begins."""
    # Before the values, which may be newer: what follows a bookmark can be repeated, but not missed.
    revision, defaults = current_revision(), platform_defaults().digest
    last_revision = _last_revision(request, revision, defaults)
    if last_revision == revision and is_asked_again(request.headers):
        check_listed(scopes, *known_names(scopes))
        return HandedWatch(principal, None, revision, resource_type, defaults), []
    etags, items = _changes(scopes, resource_type, last_revision)
    return HandedWatch(principal, etags, revision, resource_type, defaults), items


def _last_revision(request: Request, revision: int, defaults: str) -> int | None:
    """Return the revision up to which the client has read; None: it must get everything."""
    text = request.headers.get("Last-Event-ID", "")
    if not text:
        return None
    try:
        last_revision = revision_of(text, defaults)
    except ValueError as error:
        message = "Last-Event-ID must be the id of a bookmark of such a stream. Leave it out to start over."
        raise InvalidRequest(
            message, errors=[FieldError("header:Last-Event-ID", "malformed", message)]
        ) from error
    # A greater one is of another database, or of one that was restored.
    return last_revision if last_revision is not None and last_revision <= revision else None


def _changes(
    scopes: Sequence[Scope], resource_type: str, last_revision: int | None
) -> tuple[tuple[tuple[Scope, str], ...], list[ValueItem]]:
    """Return the ETags of the scopes, and the items that the client does not have."""
    items = [value_item(values) for values in values_many(scopes, resource_type=resource_type)]
    etags = tuple((scope, item.etag) for scope, item in zip(scopes, items, strict=True))
    if last_revision is None:
        return etags, items
    past = values_many(scopes, resource_type=resource_type, as_of=last_revision)
    return etags, [
        item for item, before in zip(items, past, strict=True) if item.etag != value_item(before).etag
    ]
