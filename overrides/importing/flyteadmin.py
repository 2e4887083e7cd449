"""Read a running FlyteAdmin through its REST API: projects, domains and all eight kinds of attributes.

Its responses can be in snake_case or camelCase, with enums by name or number. protobuf's zero values are
dropped, as Flyte itself cannot distinguish them from absent ones (flyte-attributes.md sections 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings

from controlplane.errors import ControlplaneError, RemoteFailed
from controlplane.formats.strict_json import parse_json
from controlplane.outgoing import fetch
from controlplane.scopes import Scope
from overrides.importing.report import ImportFindings, ImportIssue
from overrides.resolution.addresses import Address, Statement
from overrides.resource_types import BUILT_IN, ResourceType
from overrides.resource_types.casing import camel, snake_of

# The member of MatchingAttributes that holds each type.
_TARGETS = {
    "task_resource": "task_resource_attributes",
    "cluster_resource": "cluster_resource_attributes",
    "execution_queue": "execution_queue_attributes",
    "execution_cluster_label": "execution_cluster_label",
    "quality_of_service_specification": "quality_of_service",
    "plugin_override": "plugin_overrides",
    "workflow_execution_config": "workflow_execution_config",
    "cluster_assignment": "cluster_assignment",
}
# Fields that are a BoolValue in Flyte, where false is a value.
_WRAPPED = {"/interruptible"}
_PAGE = 100
_MAX_PAGES = 1000
Fetch = Callable[[str], bytes]


def read_flyteadmin(url: str, *, token: str = "") -> ImportFindings:
    """Read everything. Raises InvalidRequest for a forbidden address, RemoteFailed."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    base = url.rstrip("/") + "/api/v1"
    return read(lambda path: fetch(f"{base}{path}", headers=headers))


def read(get: Fetch) -> ImportFindings:
    """Read everything through a function that gets paths below /api/v1."""
    findings = ImportFindings()
    for project in _projects(get):
        _read_project(project, findings)
    for resource_type in BUILT_IN.values():
        answer = _get_json(get, f"/matchable_attributes?resource_type={resource_type.number}")
        for row in _list(answer, "configurations"):
            _read_row(resource_type, row, findings)
    findings.name_scopes()
    return findings


def _projects(get: Fetch) -> Iterator[Any]:
    token = ""
    for _ in range(_MAX_PAGES):
        query = urlencode({"limit": _PAGE, **({"token": token} if token else {})}, quote_via=quote)
        answer = _get_json(get, f"/projects?{query}")
        yield from _list(answer, "projects")
        token = answer.get("token") or ""
        if not token:
            return
    raise RemoteFailed(f"FlyteAdmin returned more than {_MAX_PAGES} pages of projects.")


def _read_project(project: Any, findings: ImportFindings) -> None:
    if not isinstance(project, Mapping) or not isinstance(project.get("id"), str):
        findings.problems.append(ImportIssue("a project", "The project has no id."))
        return
    if project.get("state") in (1, "ARCHIVED"):
        findings.skipped.append(ImportIssue(f"project {project['id']}", "The project is archived."))
        return
    findings.projects[project["id"]] = project.get("name") or project["id"]
    for domain in _list(project, "domains"):
        findings.domains[domain["id"]] = domain.get("name") or domain["id"]


def _read_row(resource_type: ResourceType, row: Any, findings: ImportFindings) -> None:
    names = ("domain", "project", "workflow", "launch_plan")
    segments = {name: row.get(name) or row.get(camel(name)) or "" for name in names}
    place = (
        f"{resource_type.name} at {' '.join(f'{name}={value}' for name, value in segments.items() if value)}"
    )
    try:
        scope = Scope(**segments)
        resource_type.check_level(scope)
        attributes = _attributes(resource_type, row, place, findings)
    except ControlplaneError as error:
        findings.problems.append(ImportIssue(place, error.detail))
        return
    if attributes is None:
        findings.skipped.append(ImportIssue(place, "The row has no attributes of this type."))
    elif errors := resource_type.errors(attributes, ""):
        findings.problems += [ImportIssue(place, f"{error.pointer}: {error.message}") for error in errors]
    else:
        findings.statements.append(Statement(Address(resource_type.name, scope), attributes, "", place))


def _attributes(
    resource_type: ResourceType, row: Mapping[str, Any], place: str, findings: ImportFindings
) -> dict[str, Any] | None:
    target = _TARGETS[resource_type.name]
    envelope = row.get("attributes") or {}
    message = envelope.get(target, envelope.get(camel(target)))
    if not isinstance(message, Mapping):
        return None
    unknown: list[str] = []
    schema = resource_type.schema
    attributes: dict[str, Any] = _tidy(snake_of(message, schema, ""), schema, "", unknown) or {}
    findings.skipped += [ImportIssue(place, f"The field {name} is unknown.") for name in unknown]
    return attributes


def _tidy(value: Any, schema: Mapping[str, Any], pointer: str, unknown: list[str]) -> Any:
    """Remove zero values and unknown fields, which are added to `unknown`; convert enum numbers to names."""
    if isinstance(value, Mapping):
        properties = schema.get("properties", {})
        free = schema.get("additionalProperties", not properties)
        members = {}
        for name, member in value.items():
            if name not in properties and free is False:
                unknown.append(f"{pointer}/{name}")
                continue
            below = properties.get(name, free if isinstance(free, Mapping) else {})
            location = f"{pointer}/{name}"
            tidy = _tidy(member, below, location, unknown)
            # In a free map an empty text is a value; in a field it is protobuf's "not set".
            if tidy not in (None, [], {}) and (name not in properties or not _is_zero(tidy, location)):
                members[name] = tidy
        return members
    if isinstance(value, list):
        items = schema.get("items", {})
        return [_tidy(item, items, f"{pointer}/{n}", unknown) for n, item in enumerate(value)]
    words = [word for word in schema.get("enum", ()) if word is not None]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return words[value] if words and is_number and 0 <= value < len(words) else value


def _is_zero(value: Any, pointer: str) -> bool:
    if value is False:
        return pointer not in _WRAPPED
    return value == "" or (value == 0 and not isinstance(value, bool))


def _get_json(get: Fetch, path: str) -> Mapping[str, Any]:
    body = get(path)
    try:
        answer = parse_json(body, max_depth=settings.MAX_JSON_DEPTH)
    except ControlplaneError as error:
        raise RemoteFailed(f"FlyteAdmin's response to {path} cannot be read: {error.detail}") from error
    if not isinstance(answer, Mapping):
        raise RemoteFailed(f"FlyteAdmin's response to {path} is not an object.")
    return answer


def _list(answer: Mapping[str, Any], name: str) -> list[Any]:
    items = answer.get(name) or []
    if not isinstance(items, list) or not all(isinstance(element, Mapping) for element in items):
        raise RemoteFailed(f"FlyteAdmin's {name} are not a list of objects.")
    return items
