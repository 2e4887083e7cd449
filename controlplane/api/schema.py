"""Additions to drf-spectacular's schema: permissions, hints, headers, problem documents."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from controlplane.api import deprecations, schema_hints
from controlplane.api.etag_descriptions import IF_NONE_MATCH, describe_etags
from controlplane.api.object_selection import PARAMETERS, selects_fields
from controlplane.api.problems import CONTENT_TYPE, STATUS_BY_ERROR

_DESCRIPTIONS = {
    400: "The request is invalid; `errors` lists each mistake.",
    401: "The token is missing or invalid.",
    403: "The caller lacks the required permission; `detail` names the roles that have it.",
    404: "The object does not exist, or the caller may not read it.",
    409: "The request conflicts with the current state.",
    410: "The object was permanently removed; `detail` explains what to do next.",
    412: "The object has changed since it was read.",
    413: "The body is too large.",
    415: "The content type of the body is not supported.",
    422: "The request is well-formed, but its content is invalid.",
    428: "Send `If-Match` with the ETag of the object.",
    429: "Too many requests from this token or address; try again after `Retry-After` seconds.",
    503: "The database is not available; try again after `Retry-After` seconds.",
}
_METHODS = {"get", "post", "put", "patch", "delete"}


class OperationSchema(AutoSchema):
    """Adds the supported headers and the required permission of each operation."""

    def get_override_parameters(self) -> list[Any]:
        parameters: list[Any] = list(super().get_override_parameters())
        # Some POST operations only read, and need no key.
        handler = getattr(self.view, self.method.lower(), None)
        takes_keys = getattr(self.view, "takes_keys", True)
        if self.method == "POST" and getattr(handler, "is_mutation", False) and takes_keys:
            parameters.append(
                _header(
                    "Idempotency-Key",
                    "Makes retries safe: requests with the same key take effect only once. Keys are"
                    " kept for 24 hours.",
                )
            )
        if getattr(self.view, "has_versions", False):
            if self.method == "GET":
                parameters.append(_header("If-None-Match", IF_NONE_MATCH))
            else:
                parameters.append(
                    _header("If-Match", 'ETag of the object as you last read it, such as "v7".')
                )
            if self.method == "PUT":
                parameters.append(_header("If-None-Match", "`*`: create the object, never replace it."))
        return [*parameters, *self._selecting()]

    def _selecting(self) -> list[OpenApiParameter]:
        """Return the parameters that select fields of an object."""
        if "{" not in self.path or self.method != "GET" or not selects_fields(self.view):
            return []
        return [OpenApiParameter(name, str, description=text) for name, text in PARAMETERS.items()]

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            actions = getattr(self.view, "actions", {})
            operation["x-required-permission"] = str(actions.get(self.method, ""))
            operation |= self._hints(operation)
            for error in getattr(self.view, "problems", {}).get(self.method, ()):
                _add_problem(operation, STATUS_BY_ERROR[error])
            if self.method in ("PUT", "PATCH", "DELETE") and selects_fields(self.view):
                # If-Match is compared for every object that can be read.
                _add_problem(operation, 412)
            if self.method not in getattr(self.view, "unlimited_methods", ()):
                _add_problem(operation, 429)
            leaving = getattr(self.view, "deprecations", deprecations.Deprecations())
            deprecations.describe(operation, self.method, leaving)
        return operation

    def _hints(self, operation: dict[str, Any]) -> dict[str, Any]:
        handler = getattr(self.view, self.method.lower(), None)
        is_mutation = getattr(handler, "is_mutation", False) or not getattr(
            self.view, "repeats_are_safe", True
        )
        unlimited = getattr(self.view, "unlimited_methods", ())
        pages = schema_hints.pagination(operation)
        return {
            "x-idempotent": schema_hints.idempotency(self.method.lower(), operation, is_mutation=is_mutation),
            "x-rate-class": schema_hints.rate_class(is_unlimited=self.method in unlimited),
            **({"x-pagination": pages} if pages else {}),
        }

    def get_description(self) -> str:  # type: ignore[override]  # as in drf-spectacular
        """Return no description: only `extend_schema` sets one, docstrings are for readers of the code."""
        return ""

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"token": []}, {"session": []}]

    def get_filter_backends(self) -> list[Any]:
        return []


def describe_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the problem schemas, to each operation its possible error statuses, and which enums are open."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(_SCHEMAS)
    components["securitySchemes"] = _SECURITY
    components["responses"] = {
        _name(status): _response(description, _RESPONSE_HEADERS.get(status, {}))
        for status, description in _DESCRIPTIONS.items()
    }
    describe_etags(result)
    for methods in result["paths"].values():
        for method, operation in methods.items():
            if method in _METHODS:
                for status in _statuses(operation):
                    _add_problem(operation, status)
                if "If-None-Match" in _headers(operation) and method == "get":
                    operation["responses"]["304"] = {"description": "Your copy is current."}
                operation["responses"] = dict(sorted(operation["responses"].items()))
    schema_hints.add_totals(result)
    schema_hints.mark_open_enums(result)
    return result


def _statuses(operation: dict[str, Any]) -> set[int]:
    """Return the statuses that follow from parameters and body; `Endpoint.problems` declares the rest."""
    statuses = {400, 401, 403, 503}
    parameters = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", [])}
    if "path" in parameters.values():
        statuses.add(404)
    if "project" in parameters:  # a scope, which may be unknown or invalid
        statuses |= {404, 422}
    if "requestBody" in operation:
        statuses |= {413, 415}
    if "Idempotency-Key" in parameters:  # in use, or used with another body
        statuses |= {409, 422}
    if "If-Match" in parameters:
        statuses |= {412, 428}
    return statuses


def _add_problem(operation: dict[str, Any], status: int) -> None:
    reference = {"$ref": f"#/components/responses/{_name(status)}"}
    operation["responses"].setdefault(str(int(status)), reference)


def _headers(operation: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "header"}


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, required=False, description=description)


def _name(status: int) -> str:
    return f"Problem{int(status)}"


def _response(description: str, headers: dict[str, str]) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    response: dict[str, Any] = {"description": description, "content": {CONTENT_TYPE: {"schema": schema}}}
    if headers:
        response["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
        }
    return response


_SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "Token created with `POST /api/v1/tokens`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-cp-session",
        "description": "Session of the web console. Writes also require its CSRF token.",
    },
}
_TEXT = {"type": "string"}
_RETRY_AFTER = {"Retry-After": "Seconds after which the request can be sent again."}
_RESPONSE_HEADERS = {
    429: {
        **_RETRY_AFTER,
        "RateLimit-Policy": 'Limit and window, such as `"token";q=6000;w=60`.',
        "RateLimit": 'Remaining requests, and seconds until the window ends: `"token";r=0;t=42`.',
    },
    503: _RETRY_AFTER,
}
_SCHEMAS: dict[str, Any] = {
    "Problem": {
        "type": "object",
        "description": (
            "Problem document (RFC 9457). `code` is stable: clients should rely on it, not on the texts."
        ),
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": {"type": "integer"},
            "code": _TEXT,
            "detail": _TEXT,
            "docs_url": {**_TEXT, "description": "Page that explains the code and the next step."},
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/FieldError"}},
            "request_id": _TEXT,
        },
        "required": ["type", "title", "status", "code", "detail", "errors", "request_id"],
    },
    "FieldError": {
        "type": "object",
        "description": "An error in one field of the request.",
        "properties": {
            "pointer": {
                **_TEXT,
                "description": "JSON Pointer into the body, or `?name` for a query parameter.",
            },
            "code": _TEXT,
            "message": _TEXT,
            "hint": _TEXT,
            "allowed": {"type": "array", "items": _TEXT},
            "line": {"type": "integer"},
            "column": {"type": "integer"},
        },
        "required": ["pointer", "code", "message"],
    },
}
