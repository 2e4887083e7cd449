"""A running FlyteAdmin, read through its REST API: projects, domains and all eight kinds of attributes.

Its answers may be in snake_case or camelCase, enums by name or number; protobuf's zero values say nothing
and are dropped, as Flyte itself cannot tell them from absent ones (flyte-attributes.md sections 1 and 2).
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
from overrides.importing.report import Findings, LeftOut
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
# Fields that Flyte keeps as a BoolValue: there a false is a value.
_WRAPPED = {"/interruptible"}
_PAGE = 100
_MAX_PAGES = 1000
Fetch = Callable[[str], bytes]


def read_flyteadmin(url: str, *, token: str = "") -> Findings:
    """Read everything. Raises InvalidRequest for an address that we do not ask, RemoteFailed."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    base = url.rstrip("/") + "/api/v1"
    return read(lambda path: fetch(f"{base}{path}", headers=headers))


def read(get: Fetch) -> Findings:
    """The same through any function that answers paths below /api/v1."""
    findings = Findings()
    for project in _projects(get):
        _take_project(project, findings)
    for one in BUILT_IN.values():
        answer = _ask(get, f"/matchable_attributes?resource_type={one.number}")
        for row in _list(answer, "configurations"):
            _take_row(one, row, findings)
    findings.name_scopes()
    return findings


def _projects(get: Fetch) -> Iterator[Any]:
    token = ""
    for _ in range(_MAX_PAGES):
        query = urlencode({"limit": _PAGE, **({"token": token} if token else {})}, quote_via=quote)
        answer = _ask(get, f"/projects?{query}")
        yield from _list(answer, "projects")
        token = answer.get("token") or ""
        if not token:
            return
    raise RemoteFailed(f"FlyteAdmin lists more than {_MAX_PAGES} pages of projects.")


def _take_project(project: Any, findings: Findings) -> None:
    if not isinstance(project, Mapping) or not isinstance(project.get("id"), str):
        findings.problems.append(LeftOut("a project", "It has no id."))
        return
    if project.get("state") in (1, "ARCHIVED"):
        findings.skipped.append(LeftOut(f"project {project['id']}", "It is archived."))
        return
    findings.projects[project["id"]] = project.get("name") or project["id"]
    for domain in _list(project, "domains"):
        findings.domains[domain["id"]] = domain.get("name") or domain["id"]


def _take_row(one: ResourceType, row: Any, findings: Findings) -> None:
    names = ("domain", "project", "workflow", "launch_plan")
    segments = {name: row.get(name) or row.get(camel(name)) or "" for name in names}
    place = f"{one.name} at {' '.join(f'{name}={value}' for name, value in segments.items() if value)}"
    try:
        scope = Scope(**segments)
        one.check_level(scope)
        attributes = _attributes(one, row, place, findings)
    except ControlplaneError as error:
        findings.problems.append(LeftOut(place, error.detail))
        return
    if attributes is None:
        findings.skipped.append(LeftOut(place, "It holds no attributes of this type."))
    elif errors := one.errors(attributes, ""):
        findings.problems += [LeftOut(place, f"{error.pointer}: {error.message}") for error in errors]
    else:
        findings.statements.append(Statement(Address(one.name, scope), attributes, "", place))


def _attributes(
    one: ResourceType, row: Mapping[str, Any], place: str, findings: Findings
) -> dict[str, Any] | None:
    target = _TARGETS[one.name]
    envelope = row.get("attributes") or {}
    found = envelope.get(target, envelope.get(camel(target)))
    if not isinstance(found, Mapping):
        return None
    unknown: list[str] = []
    attributes: dict[str, Any] = _tidy(snake_of(found, one.schema, ""), one.schema, "", unknown) or {}
    findings.skipped += [LeftOut(place, f"We do not know the field {name}.") for name in unknown]
    return attributes


def _tidy(value: Any, schema: Mapping[str, Any], pointer: str, unknown: list[str]) -> Any:
    """Without zero values, numbers of enums as names; what the schema does not know is noted and dropped."""
    if isinstance(value, Mapping):
        members = schema.get("properties", {})
        free = schema.get("additionalProperties", not members)
        kept = {}
        for name, member in value.items():
            if name not in members and free is False:
                unknown.append(f"{pointer}/{name}")
                continue
            below = members.get(name, free if isinstance(free, Mapping) else {})
            tidy = _tidy(member, below, f"{pointer}/{name}", unknown)
            # In a free map an empty text is somebody's value; of a field it is protobuf's "not set".
            where = f"{pointer}/{name}"
            if tidy not in (None, [], {}) and (name not in members or not _is_zero(tidy, where)):
                kept[name] = tidy
        return kept
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


def _ask(get: Fetch, path: str) -> Mapping[str, Any]:
    body = get(path)
    try:
        answer = parse_json(body, max_depth=settings.MAX_JSON_DEPTH)
    except ControlplaneError as error:
        raise RemoteFailed(f"FlyteAdmin's answer to {path} cannot be read: {error.detail}") from error
    if not isinstance(answer, Mapping):
        raise RemoteFailed(f"FlyteAdmin's answer to {path} is no object.")
    return answer


def _list(answer: Mapping[str, Any], name: str) -> list[Any]:
    found = answer.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise RemoteFailed(f"FlyteAdmin's {name} are no list of objects.")
    return found
