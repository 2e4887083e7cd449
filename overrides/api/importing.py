"""Door to imports: flytectl's attribute files, or a running FlyteAdmin."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import Flag, StrictSerializer, Text, parse_body
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.schemas import ConfirmedQuery
from overrides.editing.apply import ApplyOptions
from overrides.importing.apply import apply_findings, missing_names
from overrides.importing.flyteadmin import read_flyteadmin
from overrides.importing.flytectl import KINDS, read_files
from overrides.importing.report import Findings, LeftOut

FLYTECTL_KINDS = [(one, one) for one in KINDS]


class FlyteAdminWrite(StrictSerializer):
    url = Text(max_length=2000, help_text="FlyteAdmin's address, such as https://flyte.example.com")
    token = Text(required=False, default="", allow_blank=True, max_length=8000, help_text="Bearer token.")


class OverridesImport(StrictSerializer):
    """Give `flytectl_files` or `flyteadmin`."""

    flytectl_files = serializers.DictField(
        child=Text(lines=True, max_length=1024 * 1024), required=False, help_text="Texts by file name."
    )
    kind = serializers.ChoiceField(
        choices=FLYTECTL_KINDS, required=False, help_text="Of all files, where their keys do not tell."
    )
    flyteadmin = FlyteAdminWrite(required=False)
    manager = Text(required=False, default="import", max_length=63, help_text="Who manages the values.")
    create_projects = Flag(required=False, default=False, help_text="Create what is not registered here.")
    force = Flag(required=False, default=False, help_text="Take values from other managers.")
    prune = Flag(required=False, default=False, help_text="Remove what the manager states no more.")


class SkippedEntry(serializers.Serializer[Any]):
    place = serializers.CharField()
    line = serializers.IntegerField()
    column = serializers.IntegerField()
    reason = serializers.CharField()


class ImportRead(serializers.Serializer[Any]):
    plan = PlanRead()
    skipped = SkippedEntry(many=True, help_text="What was left out without harm.")


class ImportOverrides(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {
        "POST": (
            errors.UnknownProject,
            errors.UnknownDomain,
        )
    }
    takes_bundles = True

    @extend_schema(
        operation_id="overrides_import",
        summary="Import overrides from flytectl files or FlyteAdmin",
        description=(
            "All or nothing: a file or row that cannot be read is an error that names it. `dry_run=true` "
            "answers the report and the plan. With `prune`, a change that reaches many scopes or removes "
            "many overrides must be confirmed. The address of a FlyteAdmin must be public, or in a network "
            "that the operator allows."
        ),
        tags=["overrides documents"],
        parameters=[ConfirmedQuery],
        request=OverridesImport,
        responses=ImportRead,
        examples=[examples.IMPORT, examples.IMPORTED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ConfirmedQuery.parse(request)
        wanted = parse_body(OverridesImport, request)
        # An import may name any scope, so nobody below the top may make us ask around.
        caller_of(request).require(Action.OVERRIDE_WRITE, Scope())
        if wanted["force"]:
            caller_of(request).require(Action.OVERRIDE_FORCE, Scope())
        findings = _read(wanted)
        _refuse_problems(findings.problems)
        if any(missing_names(findings)):
            caller_of(request).require(Action.PROJECT_WRITE, Scope())
        imported = apply_findings(
            findings,
            options=_options(wanted, query),
            create_missing=wanted["create_projects"],
            actor=actor_of(request, query["change_message"]),
        )
        skipped = [SkippedEntry(one).data for one in findings.skipped]
        return Response({"plan": show_plan(imported.plan, imported.made), "skipped": skipped})


def _options(wanted: dict[str, Any], query: dict[str, Any]) -> ApplyOptions:
    """An import that removes nothing asks nothing: it is looked at in its source."""
    return ApplyOptions(
        wanted["manager"],
        force=wanted["force"],
        prune=wanted["prune"],
        confirm=query.get("confirm", ""),
        asks=wanted["prune"] and not query["dry_run"],
    )


def _read(wanted: dict[str, Any]) -> Findings:
    if ("flytectl_files" in wanted) == ("flyteadmin" in wanted):
        message = "Give flytectl_files or flyteadmin, and not both."
        raise InvalidRequest(message, errors=[FieldError("", "required", message)])
    if "flyteadmin" in wanted:
        return read_flyteadmin(wanted["flyteadmin"]["url"], token=wanted["flyteadmin"]["token"])
    return read_files(wanted["flytectl_files"], kind=wanted.get("kind", ""))


def _refuse_problems(problems: list[LeftOut]) -> None:
    if problems:
        errors = [
            FieldError(
                "", "cannot_be_imported", f"{one.place}: {one.reason}", line=one.line, column=one.column
            )
            for one in problems
        ]
        raise InvalidRequest(f"{len(problems)} mistakes. First: {errors[0].message}", errors=errors[:200])
