"""HTTP endpoint for FlyteAdmin's paths below /api/v1/, with the responses of its grpc-gateway."""

from __future__ import annotations

from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.encoding import iri_to_uri
from django.views.decorators.csrf import csrf_exempt
from google.protobuf.message import Message

from controlplane.api.bodies import read_body
from controlplane.api.throttles import count_anonymous
from controlplane.errors import BodyTooLarge, MalformedBody, TooManyAttempts
from controlplane.web.django_bridge import RAW_PATH
from overrides.flyte import bindings, calls, queries, swagger
from overrides.flyte.authorization import authorization_of
from overrides.flyte.bindings import SERVICE
from overrides.flyte.errors import HTTP_STATUS, Code, FlyteError, from_ours
from overrides.flyte.events.flyteadmin import Original
from overrides.flyte.marshalers import Marshaler, choose

_FORM = "application/x-www-form-urlencoded"
_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH")


@csrf_exempt  # authentication is by token only, never by cookie
def gateway(request: HttpRequest) -> HttpResponse:
    if (clean := queries.clean_path(request.path_info)) != request.path_info:
        return _redirect(clean, request.META.get("QUERY_STRING", ""))
    inbound, outbound = choose(request.META.get("CONTENT_TYPE", ""), request.META.get("HTTP_ACCEPT", ""))
    try:
        message = _counted_answer(request, inbound)
        response = _response(outbound, message, 200)
    except FlyteError as error:
        response = _response(outbound, error.status(), HTTP_STATUS[error.code])
        if error.code is Code.UNAUTHENTICATED:
            response["WWW-Authenticate"] = (
                error.message.replace("\n", " ").encode("ascii", "replace").decode()
            )
        if error.retry_after:
            response["Retry-After"] = str(error.retry_after)
    response["Grpc-Metadata-Content-Type"] = "application/grpc"
    return response


def _counted_answer(request: HttpRequest, inbound: Marshaler) -> Message:
    """Answer like `_answer`. Count calls without a valid token by address; `calls` counts the others."""
    try:
        if not _authorization(request):
            count_anonymous(request)
        return _answer(request, inbound)
    except FlyteError as error:
        if error.code is Code.UNAUTHENTICATED and _authorization(request):
            _count_guess(request)
        raise
    except TooManyAttempts as error:
        raise from_ours(error) from error


def _count_guess(request: HttpRequest) -> None:
    try:
        count_anonymous(request)
    except TooManyAttempts as error:
        raise from_ours(error) from error


def _answer(request: HttpRequest, inbound: Marshaler) -> Message:
    path = queries.path_of(request.META.get(RAW_PATH) or request.path_info.encode())
    binding, variables = bindings.match(bindings.ALL, _method(request), path)
    if not calls.is_answered(binding.rpc):
        raise FlyteError(Code.UNIMPLEMENTED, f"unknown method {binding.rpc} for service {SERVICE.full_name}")
    message = binding.request()
    body = _body(request, calls.most_bytes(binding.rpc)) if binding.has_body else b""
    if binding.has_body:
        inbound.load(body, message)
    else:
        query = queries.parse_query(request.META.get("QUERY_STRING", ""))
        bindings.bind_query(message, query, bound=variables)
    bindings.bind_path(message, variables)
    authorization = _authorization(request)
    original = Original(path, body, request.META.get("CONTENT_TYPE", ""), authorization)
    return calls.answer(
        binding.rpc, message, authorization=authorization, transport="http", original=original
    )


def _method(request: HttpRequest) -> str:
    method = str(request.META.get("HTTP_X_HTTP_METHOD_OVERRIDE", "")).upper()
    is_form = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() == _FORM
    if request.method == "POST" and is_form and method in _METHODS:
        return method
    return request.method or ""


def _body(request: HttpRequest, most_bytes: int) -> bytes:
    try:
        return read_body(request, most_bytes)
    except (BodyTooLarge, MalformedBody) as error:
        raise from_ours(error) from error


def _authorization(request: HttpRequest) -> str:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return authorization_of(headers, settings.FLYTE_AUTHORIZATION_HEADERS)


def _response(marshaler: Marshaler, message: Message, status: int) -> HttpResponse:
    response = HttpResponse(marshaler.dump(message), status=status, content_type=marshaler.content_type)
    response["Cache-Control"] = "no-store"
    return response


def _redirect(path: str, query: str) -> HttpResponse:
    response = HttpResponse(status=307)
    response["Location"] = iri_to_uri(quote(path) + (f"?{query}" if query else ""))
    return response


@csrf_exempt
def openapi(request: HttpRequest) -> JsonResponse:
    """`/api/v1/openapi`: the API description for generators of Flyte clients."""
    return JsonResponse(swagger.document())


@csrf_exempt
def healthcheck(request: HttpRequest) -> HttpResponse:
    """`/healthcheck`, with any method: FlyteAdmin's own probe, with an empty response."""
    return HttpResponse(status=200, content_type="text/plain")
