"""Requests of resources in files, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpctl import files
from cpctl.commands import change_options, options
from cpctl.dispatch_kinds import RESOURCE
from cpctl.errors import Conflicting, UsageError
from cpctl.output import counted

if TYPE_CHECKING:
    from cpctl.client import Api


@dataclass(frozen=True, slots=True)
class Request:
    """id: empty if the server chooses one. body: as the API accepts it."""

    id: str
    body: Mapping[str, Any]


def requests_in(paths: Sequence[str], resource_id: str = "") -> list[Request]:
    """Return the requests in files. Raises UsageError."""
    documents = files.documents(files.read(paths))
    if not documents:
        raise UsageError(f"{', '.join(paths)} contains no document.")
    if resource_id and len(documents) > 1:
        raise UsageError(
            f"--id names one resource, but there are {counted(len(documents), 'document')}.",
            hint="set id in each document",
        )
    requests = [_request(document, resource_id, number) for number, document in enumerate(documents, start=1)]
    named = [request.id for request in requests if request.id]
    if repeated := sorted({name for name in named if named.count(name) > 1}):
        raise UsageError(f"Several documents have the id {repeated[0]!r}.")
    return requests


def store(api: Api, requests: Sequence[Request], change: options.ChangeOptions) -> list[Any]:
    """Create what does not exist, and return all resources. Raises Conflicting if one exists and differs.

    Several requests are validated before the first is created.
    """
    existing = {request.id: _existing(api, request) for request in requests if request.id}
    missing = [request for request in requests if existing.get(request.id) is None]
    created = (
        [_create(api, request, change, dry_run=True) for request in missing]
        if _validates(missing, change)
        else []
    )
    if missing and not change.dry_run:
        change.ask(f"Request {_counted(missing)}?")
        created = [_create(api, request, change, dry_run=False) for request in missing]
    results = iter(created)
    return [existing.get(request.id) or next(results) for request in requests]


def _validates(missing: Sequence[Request], change: options.ChangeOptions) -> bool:
    return change.dry_run or len(missing) > 1


def _create(api: Api, request: Request, change: options.ChangeOptions, *, dry_run: bool) -> Any:
    query = {**change.query(), "dry_run": dry_run, "id": request.id}
    return api.post(RESOURCE.path, request.body, query=query).json()


def _existing(api: Api, request: Request) -> Any:
    """Return the resource with the request's id; None if there is none. Raises Conflicting if it differs."""
    resource = change_options.current_object(change_options.path_of(RESOURCE, request.id))
    if not resource or resource["state"] == "deleted":
        # The server refuses the id of a deleted resource, and says what to do.
        return None
    changed = [name for name, value in request.body.items() if not _contains(resource.get(name), value)]
    if changed:
        raise Conflicting(
            f"The resource {request.id!r} exists with another {', '.join(sorted(changed))}. "
            "A resource cannot be changed.",
            hint=f"cpctl resources delete {request.id} --wait, or choose another id",
        )
    return resource


def _contains(value: Any, wanted: Any) -> bool:
    """True if the value is the wanted one, apart from fields that the server added."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(_contains(value.get(name), inner) for name, inner in wanted.items())
    return bool(value == wanted) or (value is None and wanted in ("", {}))


def _request(document: Any, resource_id: str, number: int) -> Request:
    if not isinstance(document, dict):
        raise UsageError(f"Document {number} must be an object with service_type and spec.")
    body = {name: value for name, value in document.items() if name != "id"}
    named = str(document.get("id") or "")
    if resource_id and named not in ("", resource_id):
        raise UsageError(f"The document has the id {named!r}, and --id is {resource_id!r}.")
    return Request(resource_id or named, body)


def _counted(requests: Sequence[Request]) -> str:
    if len(requests) > 1:
        return counted(len(requests), "resource")
    (request,) = requests
    return f"{request.body.get('service_type', 'a resource')} {request.id}".rstrip()
