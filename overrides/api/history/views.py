"""HTTP endpoints for history: versions, revisions, differences, blame and rollback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeQuery, scope_from, show_scope
from controlplane.errors import FieldError, InvalidRequest, UnknownVersion
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import plan_schemas
from overrides.api.as_of import as_of
from overrides.api.history import examples, schemas
from overrides.api.overrides.views import address_from
from overrides.editing.plans import differences
from overrides.history.history import (
    address_of,
    attributes_as_of,
    blame,
    differences_between,
    get_version,
    versions_of,
    with_tickets,
)
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.revisions import check_revision, current_revision
from overrides.models import OverrideVersion, Revision

_TAGS = ["history of overrides"]


class VersionCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="override_versions_list",
        summary="List versions of an override, newest first",
        description="Includes deletions: versions without attributes.",
        tags=_TAGS,
        parameters=[schemas.VersionListQuery],
        responses=schemas.VersionPage,
        examples=[examples.VERSIONS],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        query = schemas.VersionListQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_READ)
        page = paginate(request, versions_of(address), order=("-version",), query=query)
        return page_response(request, page, schemas.show_version)


class VersionItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="override_versions_get",
        summary="Get one version of an override",
        description="Returns the attributes of that version, and who set them.",
        tags=_TAGS,
        parameters=[ScopeQuery],
        responses=schemas.VersionRead,
        examples=[examples.VERSION],
    )
    def get(self, request: Request, resource_type: str, version: int) -> Response:
        address = address_from(request, resource_type, ScopeQuery.parse(request), Action.OVERRIDE_READ)
        return Response(schemas.show_version(get_version(address, version)))


class VersionDiff(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="override_versions_diff",
        summary="Compare two versions of an override",
        description="Lists the values that differ, with the value in each version.",
        tags=_TAGS,
        parameters=[ScopeQuery],
        responses=schemas.VersionDiffRead,
        examples=[examples.VERSION_DIFF],
    )
    def get(self, request: Request, resource_type: str, version: int, other: int) -> Response:
        address = address_from(request, resource_type, ScopeQuery.parse(request), Action.OVERRIDE_READ)
        before, after = get_version(address, version), get_version(address, other)
        return Response(
            {
                "before": schemas.show_version(before),
                "after": schemas.show_version(after),
                "differences": _differences(resource_type, before.attributes, after.attributes),
            }
        )


class Blame(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="overrides_blame",
        summary="List who last set each value of an override",
        description="One item for each value: the version and revision that set it, by whom, when and why.",
        tags=_TAGS,
        parameters=[schemas.BlameQuery],
        responses=schemas.BlameRead,
        examples=[examples.BLAME],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        query = schemas.BlameQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_READ)
        past_revision = as_of(query)
        rule = current_catalogue(past_revision).get(resource_type).rule
        return Response(
            {"items": [schemas.show_blamed(line) for line in blame(address, rule, as_of=past_revision)]}
        )


class RevisionCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="override_revisions_list",
        summary="List revisions, newest first",
        description="One item for each transaction: who, when, why, and how many overrides it changed.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.RevisionPage,
        examples=[examples.REVISIONS],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, _readable(request), order=("-revision",), query=query)
        items = _revisions_by_number(page.items, caller_of(request))
        return page_response(request, page, lambda row: items[row.revision])


class RevisionItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="override_revisions_get",
        summary="Get one revision",
        description="Who changed overrides in this revision, when, why, and how many.",
        tags=_TAGS,
        responses=schemas.RevisionRead,
        examples=[examples.REVISION],
    )
    def get(self, request: Request, revision: int) -> Response:
        Query.parse(request)
        row = _readable(request).filter(revision=revision).first()
        if row is None:
            raise UnknownVersion(f"Revision {revision} does not exist.")
        return Response(_revisions_by_number([row], caller_of(request))[revision])


class RevisionDiff(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="overrides_diff",
        summary="Compare two revisions",
        description=(
            "Lists every override at or below the scope that differs, with its last change in between. "
            "Overrides that were changed back, or only changed their manager, are not listed."
        ),
        tags=_TAGS,
        parameters=[schemas.RevisionDiffQuery],
        responses=schemas.RevisionDiffPage,
        examples=[examples.REVISION_DIFF],
    )
    def get(self, request: Request) -> Response:
        query = schemas.RevisionDiffQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        earlier, later = check_revision(query["from"]), check_revision(query.get("to", current_revision()))
        if earlier > later:
            message = f"from={earlier} is later than to={later}. Swap them."
            raise InvalidRequest(message, errors=[FieldError("?from", "not_allowed", message)])
        rows = with_tickets(differences_between(earlier, later).within([scope]))
        if "resource_type" in query:
            rows = rows.filter(resource_type=query["resource_type"])
        page = paginate(request, rows, order=("id",), query=query)
        before = attributes_as_of([address_of(row) for row in page.items], earlier)
        return page_response(request, page, lambda row: _show_change(row, before[address_of(row)]))


def _readable(request: Request) -> QuerySet[Revision]:
    """Return revisions that changed something that the caller can read."""
    scopes = caller_of(request).scopes_for(Action.OVERRIDE_READ)
    if Scope() in scopes:
        return Revision.objects.all()
    return Revision.objects.filter(revision__in=OverrideVersion.objects.within(scopes).values("revision"))


def _revisions_by_number(revisions: Sequence[Revision], caller: Caller) -> dict[int, dict[str, Any]]:
    """Return revisions by number. Changes that the caller cannot read are not counted."""
    items = {revision.revision: schemas.show_revision(revision) for revision in revisions}
    scopes = caller.scopes_for(Action.OVERRIDE_READ)
    if Scope() not in scopes:
        rows = OverrideVersion.objects.within(scopes).filter(revision__in=list(items))
        counts = rows.values_list("revision").annotate(changes=Count("id"))
        for revision, changes in counts.order_by():
            items[revision]["changes"] = changes
    return items


def _differences(resource_type: str, before: Any, after: Any) -> list[dict[str, Any]]:
    """Return the differences by the type's current rule, or plain merging for a deleted type."""
    rule = current_catalogue().rule_of(resource_type)
    return plan_schemas.show_differences(differences(before, after, rule))


def _show_change(row: OverrideVersion, before: Any) -> dict[str, Any]:
    return {
        "resource_type": row.resource_type,
        "scope": show_scope(row.scope),
        "before": before,
        "after": row.attributes,
        "last_change": schemas.show_version(row),
        "differences": _differences(row.resource_type, before, row.attributes),
    }
