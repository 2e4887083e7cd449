"""Base class of all views, and the wrapper of all mutations: transaction, idempotency, dry run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.db import transaction
from django.http import HttpRequest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.access.denials import note_denial
from controlplane.api import idempotency
from controlplane.api.content_tags import check_content, with_content_tag
from controlplane.api.deprecated_use import announce
from controlplane.api.deprecations import Deprecations
from controlplane.api.dry_runs import is_dry_run
from controlplane.api.field_selection import FieldSelection
from controlplane.api.fields import Query
from controlplane.api.object_selection import selection_of, with_selection
from controlplane.api.replica_reads import read_with_staleness
from controlplane.api.throttles import AnonymousThrottle, CallerThrottle, count_anonymous
from controlplane.database.commit import OutcomeUnknown
from controlplane.errors import ControlplaneError, NotAuthenticated, PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from controlplane.replicas import reading
from controlplane.web.unknown_outcomes import UNKNOWN_OUTCOME

View = TypeVar("View", bound="Endpoint")
# Seconds. People do not notice; who changed something reads it with the position of the change.
OF_LISTS = 5.0


class Endpoint(APIView):
    """Base class of views. `actions` declares the required permission of each method."""

    actions: ClassVar[dict[str, Action]] = {}
    # OpenAPI: per method, errors that do not follow from its parameters and body (controlplane.api.schema).
    problems: ClassVar[dict[str, tuple[type[ControlplaneError], ...]]] = {}
    # Whether the view supports ETags; controlplane.api.schema documents their headers.
    has_versions: ClassVar[bool] = False
    # Whether to support Idempotency-Key. Off if a digest of the body would help to guess a secret in it.
    takes_keys: ClassVar[bool] = True
    # Whether a repeated POST that is no mutation is harmless; controlplane.api.schema documents it.
    repeats_are_safe: ClassVar[bool] = True
    # Whether bodies can have up to MAX_BUNDLE_BYTES instead of MAX_BODY_BYTES.
    takes_bundles: ClassVar[bool] = False
    # Without OPTIONS: openapi.yaml describes the operations.
    http_method_names = ("get", "head", "post", "put", "patch", "delete")
    throttle_classes = (CallerThrottle, AnonymousThrottle)
    # How many seconds old the answer of GET may be: it may then come from a read replica. None: never.
    staleness: ClassVar[float | None] = None
    # Methods without a rate limit: a whole fleet may call them at once, with one token or from one address.
    unlimited_methods: ClassVar[frozenset[str]] = frozenset()
    # What goes away, and when: operations by method, and parameters of the query.
    deprecations: ClassVar[Deprecations] = Deprecations()
    # Of a single object.
    _selection = FieldSelection()

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        if self.staleness is None or request.method not in ("GET", "HEAD") or not reading.are_configured():
            return
        # Called after authentication and permissions, which stay on the primary.
        name = request.method.lower()
        vars(self)[name] = partial(self._read_with_staleness, getattr(self, name))

    def _read_with_staleness(
        self, handler: Callable[..., Any], request: Request, *args: Any, **path: Any
    ) -> Any:
        read = partial(handler, request, *args, **path)
        return read_with_staleness(read, self.staleness or 0.0, request, request.user)

    def get_throttles(self) -> list[Any]:
        return [] if self.request.method in self.unlimited_methods else super().get_throttles()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if UNKNOWN_OUTCOME in request.META:
            # First of all: what was committed may have used up the caller's token.
            raise OutcomeUnknown
        try:
            super().initial(request, *args, **kwargs)
            self._selection = selection_of(request, self)
        except NotAuthenticated:
            # DRF counts only authenticated requests; guessed tokens must count too.
            if request.method not in self.unlimited_methods:
                count_anonymous(request._request)
            raise

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, PermissionDenied) and isinstance(self.request.user, Caller):
            note_denial(self.request._request, self.request.user, exc)
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response = with_selection(response, self._selection)
        response = with_content_tag(request, response, self.kwargs)
        response.headers.setdefault("Cache-Control", "no-store")
        if used := self.deprecations.used(str(request.method), request.query_params):
            announce(request, response, used)
        if use := getattr(request._request, "rate_use", None):
            for name, value in use.headers().items():
                response.headers[name] = value
        if response.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE and request.method == "PATCH":
            # RFC 5789 section 2.2.
            response["Accept-Patch"] = ", ".join(parser.media_type for parser in self.get_parsers())
        return response


class MutationQuery(Query):
    """Query parameters of every mutation."""

    dry_run = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Validate and respond as usual, but do not save the change.",
    )


class ReasonedQuery(MutationQuery):
    """Query parameters of mutations whose reason is recorded in the audit log and the history."""

    change_message = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Reason for the change, recorded in the audit log.",
    )


def mutation(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Run a view method in one transaction."""

    @wraps(handler)
    def run(view: Endpoint, request: Request, **path: Any) -> Any:
        dry_run = is_dry_run(request)
        with transaction.atomic():
            claimed = _claim(request) if view.takes_keys and not dry_run else None
            if claimed and (earlier := idempotency.replay(claimed)):
                return earlier
            check_content(view, request, path)
            response = handler(view, request, **path)
            if claimed:
                idempotency.store(claimed, response, getattr(response, "replayed_body", response.data))
            if dry_run:
                transaction.set_rollback(True)
                if hasattr(response, "replayed_body"):
                    # A secret that is not stored would work nowhere.
                    response.data = response.replayed_body
                response["Dry-Run"] = "true"
        return response

    run.is_mutation = True  # type: ignore[attr-defined]  # read by the schema
    return run


def caller_of(request: Request) -> Caller:
    caller = request.user
    assert isinstance(caller, Caller)  # DeclaredAction rejects all others
    return caller


def actor_of(request: Request, reason: str = "") -> Actor:
    return caller_of(request).actor(current_request_id(), reason)


def _claim(request: Request) -> idempotency.Claim | None:
    caller = caller_of(request)
    if request.method != "POST" or caller.principal_id is None:
        return None
    return idempotency.claim(request, caller.principal_id)
