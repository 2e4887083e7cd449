"""HTTP endpoint for declarative apply: many documents at once, all or nothing, with a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.bodies import StrictJSONParser, YamlDocuments, YamlParser, YmlParser, located
from controlplane.api.endpoints import Endpoint, caller_of, mutation
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.scopes import ScopeQuery, scope_from
from controlplane.formats import label_selectors
from controlplane.formats.label_selectors import Requirement
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.api.overrides.apply_each import DocumentResults, apply_each
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.schemas import AnyJSONField, WriteOptionsQuery
from overrides.api.write_options import author_of, consent_from, freeze_override_from
from overrides.documents.documents import ReceivedDocument
from overrides.documents.export import apply_bundle, scopes_in
from overrides.editing.apply import ApplyOptions
from overrides.field_managers import HAND

MAX_DOCUMENTS = 20_000
_KIND_ACTIONS = {
    "domain": Action.PROJECT_WRITE,
    "project": Action.PROJECT_WRITE,
    "resourceType": Action.TYPE_WRITE,
    "guardRail": Action.RAIL_WRITE,
}


class ApplyQuery(ScopeQuery, WriteOptionsQuery):
    """Options of an apply. `prune` removes at and below the scope; without a scope, everywhere."""

    managed_by = serializers.CharField(
        required=False,
        default=HAND,
        max_length=63,
        help_text="Manager of the documents' values, such as `git`. The default `api` stands for changes by"
        " hand: anybody may change its values, and it takes over no value that is already equal.",
    )
    prune = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Remove values at or below the scope that this manager set and no longer states.",
    )
    atomic = serializers.BooleanField(
        required=False,
        default=True,
        help_text="All or nothing. `false` applies each of at most 1,000 documents for itself and answers "
        "207 with the result of each. Not with `prune`.",
    )
    selector = Text(
        required=False,
        max_length=2000,
        help_text="With `prune`: remove only at projects with these labels, and below, such as "
        "`team=ml,tier!=dev`. Values at no project stay.",
    )


class Bundle(StrictSerializer):
    documents = serializers.ListField(
        child=AnyJSONField(),
        max_length=MAX_DOCUMENTS,
        help_text="Overrides documents, ConfigMaps, lists, projects, domains, resource types and guard "
        "rails.",
    )


class ApplyOverrides(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.ChangeFrozen, errors.ApprovalRequired)}
    parser_classes = (StrictJSONParser, YamlParser, YmlParser)
    takes_bundles = True

    @extend_schema(
        operation_id="overrides_apply",
        summary="Apply a set of documents",
        description=(
            "Each manager (`managed_by`) states everything that it sets; values of other managers stay. "
            "Changing a value of another manager is a 409, unless `force=true`. `dry_run=true` returns the "
            "plan: which documents and effective values change, at how many scopes, and what to send as "
            "`confirm`. A prune that removes everything that the manager has in reach, or at least "
            "20 overrides and more than a tenth, is a 409 until the plan's digest confirms it. `selector` "
            "limits a prune to projects by their labels. With `atomic=false`, a refused document stops no "
            "other."
        ),
        tags=["overrides"],
        parameters=[ApplyQuery],
        request={"application/json": Bundle, "application/yaml": {"type": "string"}},
        responses={200: PlanRead, 207: DocumentResults},
        examples=[*examples.BUNDLES, examples.PLAN, examples.DOCUMENT_RESULTS],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ApplyQuery.parse(request)
        documents = received_documents(request)
        options = ApplyOptions(
            manager=query["managed_by"],
            force=query["force"],
            prune=query["prune"],
            prune_within=(scope_from(query),),
            prune_labels=_labels_of(query),
            confirm=query.get("confirm", ""),
            asks=not query["dry_run"],
            freeze_override=freeze_override_from(request, query),
            heeds_freezes=not query["dry_run"],
            consent=consent_from(request, query),
            heeds_approvals=not query["dry_run"],
        )

        def apply(received: Sequence[ReceivedDocument]) -> dict[str, Any]:
            with located(request):
                authorise(caller_of(request), received, options)
                result = apply_bundle(received, options=options, actor=author_of(request, query))
                return show_plan(result.plan, caller_of(request), result.installation)

        if query["atomic"]:
            return Response(apply(documents))
        return Response(apply_each(documents, lambda document: apply([document])), status=207)


def _labels_of(query: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return what labels of projects must meet for a prune. Raises InvalidRequest."""
    if query["prune"] and not query["atomic"]:
        message = "A prune needs the whole set. Leave out `prune`, or `atomic=false`."
        raise _wrong("atomic", "not_allowed", message)
    if "selector" not in query:
        return ()
    if not query["prune"]:
        raise _wrong(
            "selector", "not_allowed", "`selector` limits a prune. Add `prune=true`, or leave it out."
        )
    if not (requirements := label_selectors.parse(query["selector"])):
        # An empty selector selects everything, which nobody means who limits a prune.
        raise _wrong("selector", "required", "The selector of a prune must name a label, such as `team=ml`.")
    return tuple(requirements)


def _wrong(parameter: str, code: str, message: str) -> errors.InvalidRequest:
    return errors.InvalidRequest(message, errors=[errors.FieldError(f"?{parameter}", code, message)])


def received_documents(request: Request) -> list[ReceivedDocument]:
    """Return the documents of the body, JSON or YAML."""
    body: Any = request.data
    if not isinstance(body, YamlDocuments):
        parsed = Bundle(data=body)
        parsed.is_valid(raise_exception=True)
        body = body["documents"]
    return [ReceivedDocument(document, f"/documents/{number}") for number, document in enumerate(body)]


def authorise(caller: Caller, documents: Iterable[ReceivedDocument], options: ApplyOptions) -> None:
    """Check that the caller may write every scope and kind, before anything is looked up."""
    received = list(documents)
    kinds, scopes = scopes_in(received, maximum=MAX_DOCUMENTS)
    for kind in kinds:
        caller.require(_KIND_ACTIONS[kind], Scope())
    changed = {*scopes, *(options.prune_within if options.prune else ())}
    _require_at_each(caller, Action.OVERRIDE_WRITE, changed)
    if options.force:
        _require_at_each(caller, Action.OVERRIDE_FORCE, changed)
    caller.require_recent_login_for(len(received))


def _require_at_each(caller: Caller, action: Action, scopes: Iterable[Scope]) -> None:
    """Require the action at every scope, and decide once for a project and domain where that is enough.

    What is allowed at a project and domain is allowed below. Scopes that require a recent login are not
    inherited, so without one every scope is asked for.
    """
    allowed: dict[tuple[str, str], bool] = {}
    for scope in scopes:
        pair = (scope.domain, scope.project)
        if pair not in allowed:
            allowed[pair] = caller.step_up is None and caller.verdict(action, Scope(*pair)).allowed
        if not allowed[pair]:
            caller.require(action, scope)
