"""Doors to declarative apply: many documents at once, all or nothing, with a plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.bodies import StrictJSONParser, YamlDocuments, YamlParser, YmlParser, located
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import StrictSerializer
from controlplane.api.scopes import ScopeQuery, scope_from
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.api.plan_schemas import PlanRead, show_applied
from overrides.api.schemas import AnyJSONField, TermsQuery
from overrides.documents.documents import Sent
from overrides.documents.export import apply_bundle, scopes_in
from overrides.editing.apply import ApplyOptions

MAX_DOCUMENTS = 20_000
_KIND_ACTIONS = {
    "domain": Action.PROJECT_WRITE,
    "project": Action.PROJECT_WRITE,
    "resourceType": Action.TYPE_WRITE,
    "guardRail": Action.RAIL_WRITE,
}


class ApplyQuery(ScopeQuery, TermsQuery):
    """The terms of an apply. The scope says how far `prune` reaches; leave it out for everywhere."""

    managed_by = serializers.CharField(
        required=False,
        default="api",
        max_length=63,
        help_text="Whose documents these are, such as `git`.",
    )
    prune = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Take out what this manager set before, at or below the scope, and states no more.",
    )


class Bundle(StrictSerializer):
    documents = serializers.ListField(
        child=AnyJSONField(),
        max_length=MAX_DOCUMENTS,
        help_text="Overrides documents, ConfigMaps, lists of entries, projects, domains, types, rails.",
    )


class ApplyOverrides(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    parser_classes = (StrictJSONParser, YamlParser, YmlParser)
    takes_bundles = True

    @extend_schema(
        operation_id="overrides_apply",
        summary="Apply a set of documents",
        description=(
            "Each manager (`managed_by`) says all that it wants; what others manage stays. A value that "
            "somebody else manages is a 409 that names it, unless `force=true`. `dry_run=true` answers the "
            "plan, however large: which documents differ, which effective values change, at how many scopes, "
            "and what to `confirm`. A prune that removes all that the manager has in reach, or at least "
            "20 overrides and more than a tenth, is a 409 until the plan's digest confirms it."
        ),
        tags=["overrides"],
        parameters=[ApplyQuery],
        request={"application/json": Bundle, "application/yaml": {"type": "string"}},
        responses=PlanRead,
        examples=[*examples.BUNDLES, examples.PLAN],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ApplyQuery.parse(request)
        sent = sent_documents(request)
        options = ApplyOptions(
            manager=query["managed_by"],
            force=query["force"],
            prune=query["prune"],
            prune_within=(scope_from(query),),
            confirm=query.get("confirm", ""),
            asks=not query["dry_run"],
        )
        with located(request):
            authorise(caller_of(request), sent, options)
            actor = actor_of(request, query["change_message"])
            return Response(show_applied(apply_bundle(sent, options=options, actor=actor)))


def sent_documents(request: Request) -> list[Sent]:
    """The documents of the body, JSON or YAML."""
    documents: Any = request.data
    if not isinstance(documents, YamlDocuments):
        parsed = Bundle(data=documents)
        parsed.is_valid(raise_exception=True)
        documents = documents["documents"]
    return [Sent(one, f"/documents/{number}") for number, one in enumerate(documents)]


def authorise(caller: Caller, sent: Iterable[Sent], options: ApplyOptions) -> None:
    """Every scope and kind must be the caller's to write, before anything is looked up."""
    kinds, scopes = scopes_in(list(sent), most=MAX_DOCUMENTS)
    for kind in kinds:
        caller.require(_KIND_ACTIONS[kind], Scope())
    for scope in {*scopes, *(options.prune_within if options.prune else ())}:
        caller.require(Action.OVERRIDE_WRITE, scope)
        if options.force:
            caller.require(Action.OVERRIDE_FORCE, scope)
