"""The base of every view, and the frame of every mutation: one transaction, idempotency, dry run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.api import idempotency
from controlplane.api.fields import Query
from controlplane.api.throttles import AnonymousThrottle, CallerThrottle, count_anonymous
from controlplane.errors import ControlplaneError, NotAuthenticated
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id

View = TypeVar("View", bound="Endpoint")
_TRUE = {"true", "1"}


class Endpoint(APIView):
    """A view of ours. `actions` says, per method, what the caller must be allowed to do."""

    actions: ClassVar[dict[str, Action]] = {}
    # OpenAPI: per method, errors that do not follow from its parameters and body (controlplane.api.schema).
    problems: ClassVar[dict[str, tuple[type[ControlplaneError], ...]]] = {}
    # OpenAPI: the headers that this view's writes understand (controlplane.api.schema).
    has_versions: ClassVar[bool] = False
    # Off where a digest of the body would help to guess a secret in it.
    takes_keys: ClassVar[bool] = True
    # Bodies up to MAX_BUNDLE_BYTES instead of MAX_BODY_BYTES.
    takes_bundles: ClassVar[bool] = False
    # Two views may not share an operation; OPTIONS would tell nothing that openapi.yaml does not.
    http_method_names = ("get", "head", "post", "put", "patch", "delete")
    throttle_classes = (CallerThrottle, AnonymousThrottle)
    # Methods without a limit of requests: a whole fleet may come at once, with one token or from one address.
    unlimited_methods: ClassVar[frozenset[str]] = frozenset()

    def get_throttles(self) -> list[Any]:
        return [] if self.request.method in self.unlimited_methods else super().get_throttles()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        try:
            super().initial(request, *args, **kwargs)
        except NotAuthenticated:
            # DRF counts only requests that it lets in; guessed tokens count too.
            if request.method not in self.unlimited_methods:
                count_anonymous(request._request)
            raise

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "no-store")
        if response.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE and request.method == "PATCH":
            # RFC 5789 section 2.2.
            response["Accept-Patch"] = ", ".join(parser.media_type for parser in self.get_parsers())
        return response


class MutationQuery(Query):
    """What every mutation takes."""

    dry_run = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Do everything but keep it; answers as the real call would.",
    )


class ReasonedQuery(MutationQuery):
    """For mutations whose reason goes into the audit log and the history."""

    change_message = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=500, help_text="Why. Kept in the audit log."
    )


def mutation(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Run a view method in one transaction that keeps all or nothing."""

    @wraps(handler)
    def run(view: Endpoint, request: Request, **path: Any) -> Any:
        dry_run = request.query_params.get("dry_run", "").lower() in _TRUE
        with transaction.atomic():
            claimed = _claim(request) if view.takes_keys and not dry_run else None
            if claimed and (earlier := idempotency.replay(claimed)):
                return earlier
            response = handler(view, request, **path)
            if claimed:
                idempotency.keep(claimed, response, getattr(response, "shown_again", response.data))
            if dry_run:
                transaction.set_rollback(True)
                response["Dry-Run"] = "true"
        return response

    run.is_mutation = True  # type: ignore[attr-defined]  # the schema asks for it
    return run


def caller_of(request: Request) -> Caller:
    caller = request.user
    assert isinstance(caller, Caller)  # DeclaredAction let nobody else pass
    return caller


def actor_of(request: Request, reason: str = "") -> Actor:
    return caller_of(request).actor(current_request_id(), reason)


def _claim(request: Request) -> idempotency.Claim | None:
    caller = caller_of(request)
    if request.method != "POST" or caller.principal_id is None:
        return None
    return idempotency.claim(request, caller.principal_id)
