"""The HTTP door: FlyteAdmin's paths below /api/v1/, as its grpc-gateway answers them."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from google.protobuf.message import Message

from controlplane.api.json_body import read_body
from controlplane.errors import BodyTooLarge
from overrides.flyte import bindings, calls, swagger
from overrides.flyte.errors import HTTP_STATUS, Code, FlyteError, from_ours
from overrides.flyte.marshalers import Marshaler, choose

_FORM = "application/x-www-form-urlencoded"
_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH")


@csrf_exempt  # by token only: no cookie is looked at
def gateway(request: HttpRequest) -> HttpResponse:
    inbound, outbound = choose(request.META.get("CONTENT_TYPE", ""), request.META.get("HTTP_ACCEPT", ""))
    try:
        message = _answer(request, inbound)
        response = _response(outbound, message, 200)
    except FlyteError as error:
        response = _response(outbound, error.status(), HTTP_STATUS[error.code])
        if error.code is Code.UNAUTHENTICATED:
            response["WWW-Authenticate"] = (
                error.message.replace("\n", " ").encode("ascii", "replace").decode()
            )
    response["Grpc-Metadata-Content-Type"] = "application/grpc"
    return response


def _answer(request: HttpRequest, inbound: Marshaler) -> Message:
    binding, variables = bindings.match(calls.BINDINGS, _method(request), request.path_info)
    message = binding.request()
    if binding.has_body:
        inbound.load(_body(request), message)
    else:
        bindings.bind_query(message, dict(request.GET.lists()), bound=variables)
    bindings.bind_path(message, variables)
    return calls.answer(binding.rpc, message, authorization=_authorization(request), transport="http")


def _method(request: HttpRequest) -> str:
    said = str(request.META.get("HTTP_X_HTTP_METHOD_OVERRIDE", "")).upper()
    is_form = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() == _FORM
    if request.method == "POST" and is_form and said in _METHODS:
        return said
    return request.method or ""


def _body(request: HttpRequest) -> bytes:
    try:
        return read_body(request, settings.MAX_BODY_BYTES)
    except BodyTooLarge as error:
        raise from_ours(error) from error


def _authorization(request: HttpRequest) -> str:
    # Flyte's own header first: a proxy in front may use the other for itself.
    said: str = request.META.get("HTTP_FLYTE_AUTHORIZATION") or request.META.get("HTTP_AUTHORIZATION", "")
    return said


def _response(marshaler: Marshaler, message: Message, status: int) -> HttpResponse:
    response = HttpResponse(marshaler.dump(message), status=status, content_type=marshaler.content_type)
    response["Cache-Control"] = "no-store"
    return response


def openapi(request: HttpRequest) -> JsonResponse:
    """`GET /api/v1/openapi`: the description that generators of Flyte clients read."""
    return JsonResponse(swagger.document())


def healthcheck(request: HttpRequest) -> HttpResponse:
    """`GET /healthcheck`: FlyteAdmin's own probe, which says nothing."""
    return HttpResponse(status=200, content_type="text/plain")
